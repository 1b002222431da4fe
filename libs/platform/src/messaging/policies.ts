/** A policy of RabbitMQ, as its definitions have it. */
export interface BrokerPolicy {
  readonly name: string;
  readonly vhost: string;
  readonly 'apply-to': 'queues';
  /** A regular expression over the names of queues. */
  readonly pattern: string;
  /** If several policies match a queue, the one with the highest priority applies. */
  readonly priority: number;
  readonly definition: Readonly<Record<string, number | string>>;
}

const MEBIBYTE = 1024 * 1024;
/** Most bytes of waiting answers and events; a process reads them at once. */
const MOST_WAITING_BYTES = 64 * MEBIBYTE;
const UNUSED_MS = 3_600_000;
/** A stream drops only whole segments, when it begins another one; they are 500 MB if nothing else is said. */
const SEGMENT_BYTES = 8 * MEBIBYTE;
/** Messages are ids of a few hundred bytes, and a queue of jobs holds 100,000. */
const MOST_BYTES = 128 * MEBIBYTE;

/**
 * Returns policies that limit every queue. An attacker in an app may declare queues without the limits that the app
 * itself would set. If a queue has limits of its own too, the lower one applies. RabbitMQ applies a policy
 * only to queues whose type knows all of its limits, so streams need a policy of their own. Some versions may apply that
 * policy to every queue; by its priority it then leaves queues of answers and events their own limits.
 */
export function brokerPolicies(vhost: string): readonly BrokerPolicy[] {
  const policy = { vhost, 'apply-to': 'queues' } as const;
  return [
    {
      ...policy,
      name: 'sluice-waiting',
      pattern: String.raw`^(replies|events)\.`,
      priority: 2,
      definition: { 'max-length-bytes': MOST_WAITING_BYTES, expires: UNUSED_MS },
    },
    {
      ...policy,
      name: 'sluice-streams',
      pattern: '.*',
      priority: 1,
      definition: {
        'max-length-bytes': MOST_WAITING_BYTES,
        'max-age': `${UNUSED_MS / 1_000}s`,
        'stream-max-segment-size-bytes': SEGMENT_BYTES,
      },
    },
    { ...policy, name: 'sluice-queues', pattern: '.*', priority: 0, definition: { 'max-length-bytes': MOST_BYTES } },
  ];
}
