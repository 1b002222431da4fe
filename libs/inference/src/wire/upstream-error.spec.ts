import { anEndpoint } from '../testing';
import { errorInside, keyRefusalOf, upstreamError } from './upstream-error';
import { notedRefusal } from './upstream-refusal';

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
    ['', 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
    ['', 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.'],
    ['model_not_available', 'invalid_request_error', 'Unable to access non-serverless model acme/large.'],
    ['model_not_supported', 'invalid_request_error', "The requested model 'x' is not supported by any provider."],
    ['', 'invalid_model', "Invalid model 'x'. Permitted models can be found in the documentation."],
    ['unsupported_value', 'invalid_request_error', 'Your organization must be verified to stream this model.'],
    ['400', 'budget_exceeded', 'Budget has been exceeded! Current cost: 10, Max budget: 5'],
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

describe('a 403', () => {
  const forbidden = (code: string | null, message: string) =>
    upstreamError(provider, 403, {}, Buffer.from(JSON.stringify({ error: { code, message } })));

  it.each([
    ['model_not_found', 'Project `proj_x` does not have access to model `acme-5`'],
    [null, "You don't have access to the model with the specified model ID."],
  ])('about one model is no refusal of the key, which other models may use: %s %s', (code, message) => {
    const error = forbidden(code, message);
    expect([keyRefusalOf(error), notedRefusal(error), error.code]).toEqual([
      null,
      'unknown_model',
      'provider_unavailable',
    ]);
  });

  it.each(['acme/large-3.5', 'acme/large-4.1:extended', 'acme/large'])(
    'about a prompt to %s is about no key',
    (model) => {
      const said = `${model} requires moderation on Acme. Your input was flagged for "violence". No credits were charged.`;
      const error = forbidden('403', said);
      expect([keyRefusalOf(error), error.code]).toEqual([null, 'content_policy_violation']);
    },
  );

  it('that quotes either is a refusal of the key', () => {
    for (const message of [
      "Denied: You don't have access to the model",
      'Denied: acme/large requires moderation. It was flagged',
    ]) {
      expect(keyRefusalOf(forbidden('permission_denied', message))).toBe(403);
    }
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

  it.each([
    ['invalid_api_key', 'its words', 'refused_key', 401],
    ['authentication_error', 'its words', 'refused_key', 401],
    ['UNAUTHENTICATED', 'its words', 'refused_key', 401],
    ['permission_error', 'its words', 'refused_key', 403],
    [null, 'Incorrect API key provided: x', 'refused_key', 401],
    ['insufficient_quota', 'its words', 'refused_account', null],
    ['invalid_request_error', 'Your credit balance is too low', 'refused_account', null],
    ['model_not_found', 'The model x does not exist', 'unknown_model', null],
    ['model_decommissioned', 'The model x has been decommissioned', 'unknown_model', null],
    ['server_error', 'an invalid_api_key was not the cause', 'down', null],
  ])('distinguishes refused keys, accounts and unknown models from outages: %s, %s', (code, message, refused, key) => {
    const error = errorInside(provider, { message, code, status: null });
    const seen = [error.code, notedRefusal(error), keyRefusalOf(error)];
    expect(seen).toEqual(['provider_unavailable', refused, key]);
    expect(error.message).not.toContain(message);
  });
});

describe('a 410', () => {
  it('for a model at its end means that the provider does not know it', () => {
    const error = refusal(410, "The model 'x' has reached its end of life on 2026-05-14T00:00:00Z.");
    expect([error.code, notedRefusal(error)]).toEqual(['provider_unavailable', 'unknown_model']);
    expect(notedRefusal(refusal(410, 'Gone'))).toBe('down');
  });
});
