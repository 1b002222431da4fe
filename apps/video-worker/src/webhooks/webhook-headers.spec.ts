import { createHmac } from 'node:crypto';
import { Secret } from '@libs/contracts';
import { Webhook } from 'standardwebhooks';
import { webhookHeaders } from './webhook-headers';

const current = new Secret(`whsec_${Buffer.alloc(32, 1).toString('base64')}`);
const previous = new Secret(`whsec_${Buffer.alloc(32, 2).toString('base64')}`);
const body = '{"type":"batch.completed","data":{"name":"ü"}}';
const now = (): number => Math.floor(Date.now() / 1000);

function headersOf(secrets: readonly Secret[], timestamp = now()): Record<string, string> {
  return webhookHeaders('sluice', { id: 'batch-1-completed', timestamp, body, secrets });
}

describe(webhookHeaders, () => {
  it('signs so that a receiver with the standard library takes the event for real', () => {
    expect(new Webhook(current.reveal()).verify(body, headersOf([current]))).toEqual(JSON.parse(body));
  });

  it.each([
    ['the current secret', current],
    ['the one before', previous],
  ])('is real to who knows %s while it is being replaced', (_which, secret) => {
    expect(new Webhook(secret.reveal()).verify(body, headersOf([current, previous]))).toEqual(JSON.parse(body));
  });

  it('is not real to who knows another secret, for another body, or when it is old', () => {
    const verify = (secret: Secret, text: string, timestamp?: number) => () =>
      new Webhook(secret.reveal()).verify(text, headersOf([current], timestamp));
    expect(verify(previous, body)).toThrow();
    expect(verify(current, `${body} `)).toThrow();
    expect(verify(current, body, now() - 600)).toThrow();
  });

  it('has the older pair of headers too', () => {
    const v1 = (secret: Secret) => createHmac('sha256', secret.reveal()).update(`1700000000,${body}`).digest('hex');
    expect(headersOf([current, previous], 1_700_000_000)).toMatchObject({
      'x-sluice-idempotency-key': 'batch-1-completed',
      'x-sluice-signature': `t=1700000000,v1=${v1(current)},v1=${v1(previous)}`,
    });
  });

  it('signs nothing for a workspace without a secret', () => {
    expect(headersOf([], 1_700_000_000)).toEqual({
      'webhook-id': 'batch-1-completed',
      'webhook-timestamp': '1700000000',
      'x-sluice-idempotency-key': 'batch-1-completed',
    });
  });
});
