/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the metrics that a lane's answer on its control socket becomes. Control
 * thread. */
#ifndef SEALANE_NODE_STATUS_METRICS_H
#define SEALANE_NODE_STATUS_METRICS_H

#include <stdio.h>

/* Takes @answer apart in place. Which counters there are is the lane's to say: every
 * one becomes a metric. 0 or -ENOMEM. */
int status_metrics_lane(char *answer, FILE *out);

#endif
