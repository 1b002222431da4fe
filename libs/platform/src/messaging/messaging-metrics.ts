import { counter, durationHistogram, gauge } from '../telemetry/metrics';

// Labels hold names of contracts and codes of the error table, so the number of series is bounded.

/** Outcome: `ok` or the code of the error. */
export const callSeconds = durationHistogram({
  name: 'sluice_call_seconds',
  help: 'Time a call took for its caller',
  labelNames: ['contract', 'outcome'],
});

/** Outcome: `ok` or the code of the error. */
export const answerSeconds = durationHistogram({
  name: 'sluice_answer_seconds',
  help: 'Time a call took at its owner',
  labelNames: ['contract', 'outcome'],
});

export const jobSeconds = durationHistogram({
  name: 'sluice_job_seconds',
  help: 'Time a job took at its handler',
  labelNames: ['contract'],
});

/** Outcome: `done`, `failed` (its handler threw), `dead` (it cannot be read; put aside). */
export const jobsTotal = counter({
  name: 'sluice_jobs_total',
  help: 'Deliveries of jobs',
  labelNames: ['contract', 'outcome'],
});

export const publishFailuresTotal = counter({
  name: 'sluice_publish_failures_total',
  help: 'Messages that the broker did not take',
  labelNames: ['reason'],
});

export const messagesRefusedTotal = counter({
  name: 'sluice_messages_refused_total',
  help: 'Questions, answers and events that were dropped because of their signature',
  labelNames: ['kind', 'reason'],
});

export const outboxRelayedTotal = counter({
  name: 'sluice_outbox_relayed_total',
  help: 'Outbox messages that the broker confirmed',
});

export const outboxLagSeconds = gauge({
  name: 'sluice_outbox_lag_seconds',
  help: 'Age of the oldest message in the outbox; 0 when it is empty',
});

export const outboxStuckMessages = gauge({
  name: 'sluice_outbox_stuck_messages',
  help: 'Outbox messages that were not confirmed three times or more, up to 1000',
});
