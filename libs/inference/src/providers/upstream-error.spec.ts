import { anEndpoint } from '../testing';
import { errorInside, upstreamError } from './upstream-error';

const { provider } = anEndpoint();
const refusal = (status: number, message: string) =>
  upstreamError(provider, status, {}, Buffer.from(JSON.stringify({ error: { message } })));

describe('a refusal of an upstream', () => {
  it.each([
    [400, 'The decoder prompt (length 21535) is longer than the maximum model length of 16384.'],
    [400, "This model's maximum context length is 8192 tokens, but you requested 9000 tokens"],
    [413, 'Input validation error: `inputs` must have less than 512 tokens. Given: 600'],
    [422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 + 200'],
  ])('that says by %d that a prompt is too long, says so: %s', (status, message) => {
    expect(refusal(status, message).code).toBe('context_length_exceeded');
  });

  it.each([
    [422, 'tools.0.function: Field required', 'unprocessable'],
    [413, 'Request entity too large', 'payload_too_large'],
    [400, 'messages must not be empty', 'invalid_request'],
  ])('by %d for anything else stays what it is: %s', (status, message, code) => {
    expect(refusal(status, message).code).toBe(code);
  });
});

describe('an error inside a 200', () => {
  it.each([
    ['429', 'rate_limit_exceeded'],
    ['too_many_requests', 'rate_limit_exceeded'],
    ['503', 'provider_overloaded'],
    ['200', 'provider_unavailable'],
    ['1302', 'provider_unavailable'],
  ])('is what its code %s says', (code, expected) => {
    expect(errorInside(provider, { message: 'no', code, status: null }).code).toBe(expected);
  });
});
