import { createHmac } from 'node:crypto';
import type { Secret } from '@libs/contracts';

export interface SignedEvent {
  /** The same for every attempt. */
  readonly id: string;
  /** Time of this attempt, in Unix seconds. */
  readonly timestamp: number;
  /** The bytes that are sent. */
  readonly body: string;
  /** `whsec_…`, the current one first; none for a workspace without secrets. */
  readonly secrets: readonly Secret[];
}

const SECRET_PREFIX = 'whsec_';

/**
 * Returns the headers by which a receiver verifies an event (Standard Webhooks 1.0), and the API's older pair:
 * `X-<Service>-Idempotency-Key` with the event's id, `X-<Service>-Signature` as `t=<timestamp>,v1=<hex>`. While a
 * secret is being replaced there is one signature per secret; without a secret there is none.
 */
export function webhookHeaders(serviceName: string, event: SignedEvent): Record<string, string> {
  const { id, timestamp, secrets } = event;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    [`x-${serviceName}-idempotency-key`]: id,
    ...(secrets.length > 0 && {
      'webhook-signature': secrets.map((secret) => `v1,${standardSignature(event, secret)}`).join(' '),
      [`x-${serviceName}-signature`]: [
        `t=${timestamp}`,
        ...secrets.map((secret) => `v1=${olderSignature(event, secret)}`),
      ].join(','),
    }),
  };
}

/** Signs with the bytes that the secret encodes in base64. */
function standardSignature({ id, timestamp, body }: SignedEvent, secret: Secret): string {
  const key = Buffer.from(secret.reveal().slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
}

/** Signs with the secret as it was shown; a comma joins the signed parts. */
function olderSignature({ timestamp, body }: SignedEvent, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(`${timestamp},${body}`).digest('hex');
}
