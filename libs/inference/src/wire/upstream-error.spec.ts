import { anEndpoint } from '../testing';
import { errorInside, upstreamError } from './upstream-error';

const { provider } = anEndpoint();
const refusal = (status: number, message: string) =>
  upstreamError(provider, status, {}, Buffer.from(JSON.stringify({ error: { message } })));

describe('a refusal of an upstream', () => {
  it.each([
    [422, 'tools.0.function: Field required', 'unprocessable'],
    [413, 'Request entity too large', 'payload_too_large'],
    [400, 'messages must not be empty', 'invalid_request'],
  ])('by %d for what has no word of its own stays what it is: %s', (status, message, code) => {
    expect(refusal(status, message).code).toBe(code);
  });
});

describe('an account or model problem that a provider reports as 400', () => {
  const reported: readonly (readonly [string, string, string])[] = [
    ['Arrearage', 'Arrearage', 'Access denied, please make sure your account is in good standing.'],
    [
      'organization_restricted',
      'invalid_request_error',
      'Organization has been restricted. Please reach out to support.',
    ],
    [
      'model_decommissioned',
      'invalid_request_error',
      'The model `x` has been decommissioned and is no longer supported.',
    ],
    ['model_not_found', 'invalid_request_error', 'The model `x` does not exist'],
    ['', 'invalid_request_error', 'This organization has been disabled.'],
    ['', 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'],
    ['', 'invalid_request_error', 'You have reached your specified API usage limits.'],
    ['', 'invalid_request_error', 'Incorrect API key provided: sk-x'],
  ];

  it.each(reported)('is retryable and hides the provider words: %s %s %s', (code, type, message) => {
    const error = { message, type, ...(code !== '' && { code }) };
    const ours = upstreamError(provider, 400, {}, Buffer.from(JSON.stringify({ error })));
    const inside = errorInside(provider, { message, code: code || type, status: null });
    for (const { code: meant, retryable, message: words } of [ours, inside]) {
      expect({ meant, retryable }).toEqual({ meant: expect.not.stringContaining('invalid_request'), retryable: true });
      expect(words).not.toContain(message);
    }
  });

  it('is not assumed because the message quotes one', () => {
    expect(refusal(400, 'messages[0] says: your credit balance is too low').code).toBe('invalid_request');
  });
});

describe('an error inside a 200', () => {
  it.each([
    ['429', 'rate_limit_exceeded'],
    ['too_many_requests', 'rate_limit_exceeded'],
    ['503', 'provider_overloaded'],
    ['200', 'provider_unavailable'],
    ['1302', 'provider_unavailable'],
    ['invalid_prompt', 'invalid_prompt'],
    ['image_too_small', 'image_too_small'],
  ])('is what its code %s says', (code, expected) => {
    expect(errorInside(provider, { message: 'no', code, status: null }).code).toBe(expected);
  });
});
