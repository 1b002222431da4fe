import { scrubLine } from './scrub-line';

const CANARY = 'CaNaRy0123456789abcdefCANARY';
const HEX = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const BASE64_32_BYTES = 'Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2E=';

/** [shape, text, the part that must be gone] */
const SHAPES: readonly (readonly [string, string, string])[] = [
  ['a key of ours', `key sk-sluice-v1-${CANARY} used`, CANARY],
  ['an OpenAI key', `Incorrect API key provided: sk-proj-${CANARY}.`, CANARY],
  ['an Anthropic key', `sk-ant-api03-${CANARY}-x_y`, CANARY],
  ['a Stripe key', `sk_live_${CANARY}`, CANARY],
  ['a webhook secret', `whsec_${CANARY}=`, CANARY],
  ['a Groq key', `gsk_${CANARY}`, CANARY],
  ['a Hugging Face token', `hf_${CANARY}`, CANARY],
  ['an xAI key', `xai-${CANARY}`, CANARY],
  ['a GitHub token', `ghp_${CANARY}`, CANARY],
  ['a Slack token', `xoxb-${CANARY}`, CANARY],
  ['an AWS key id', 'AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  ['a Google API key', `AIzaSy${CANARY}abc`, CANARY],
  ['a Google access token', `ya29.a0${CANARY}`, CANARY],
  ['a Vault token', `hvs.${CANARY}`, CANARY],
  ['a bearer header', `authorization: Bearer ${CANARY}`, CANARY],
  ['a bearer in lower case', `bearer ${CANARY}`, CANARY],
  ['a percent-encoded bearer', `Bearer%20${CANARY}`, CANARY],
  ['a basic header in lower case', `authorization: basic ${CANARY}==`, CANARY],
  ['a basic header', `Authorization: Basic ${CANARY}==`, CANARY],
  ['a JWT', `eyJhbGciOiJFUzI1NiJ9.${CANARY}.${CANARY}`, CANARY],
  ['a JWE with an empty part', `eyJhbGciOiJkaXIifQ..${CANARY}.${CANARY}.${CANARY}`, CANARY],
  ['a database URL', `connect postgres://app:${CANARY}@db:5432/x`, CANARY],
  ['a password with marks in it', `amqp://guest:a/b?c@#${CANARY}@mq:5672`, CANARY],
  ['a Redis URL without a user', `redis://:${CANARY}@cache:6379`, CANARY],
  ['a web URL with a password', `https://user:${CANARY}@host/path`, CANARY],
  ['a key in a query', `GET https://x/v1/models?key=${HEX}&alt=sse`, HEX],
  ['a token in a query', `/cb?state=1&access_token=${HEX}`, HEX],
  ['a signed URL', `https://b/o?X-Amz-Signature=${HEX}`, HEX],
  ['an x-api-key header', `x-api-key: ${HEX}`, HEX],
  ['an assignment', `DEEPGRAM_API_KEY=${HEX}`, HEX],
  ['a password in a sentence', `password=${HEX}, host=db`, HEX],
  ['a PEM private key', '-----BEGIN EC PRIVATE KEY-----\nTUlJCaNaRy\nabc=\n-----END EC PRIVATE KEY-----', 'TUlJCaNaRy'],
  ['the private part of a JWK', `{"kty":"EC","d":"${CANARY}${CANARY}","crv":"P-256"}`, CANARY],
  ['an entry of the key ring', `kek-1:${BASE64_32_BYTES}`, BASE64_32_BYTES],
  ['JSON in a text', `upstream said {"error":{"api_key":"${HEX}"}}`, HEX],
  ['a cookie', `set-cookie: ${HEX}; Path=/`, HEX],
  ['a client secret', `client_secret=${HEX}&grant_type=x`, HEX],
];

describe(scrubLine.name, () => {
  it.each(SHAPES)('hides %s', (_shape, text, secret) => {
    const line = JSON.stringify({ level: 'info', msg: text, tail: 'kept' });
    const scrubbed = scrubLine(line);
    expect(scrubbed).not.toContain(secret);
    expect(scrubbed).toContain('[redacted]');
    expect((JSON.parse(scrubbed) as { tail: string }).tail).toBe('kept');
  });

  it.each(SHAPES)('hides %s that is quoted twice', (_shape, text, secret) => {
    const line = JSON.stringify({ msg: JSON.stringify({ inner: text }), tail: 'kept' });
    const scrubbed = scrubLine(line);
    expect(scrubbed).not.toContain(secret);
    const outer = JSON.parse(scrubbed) as { msg: string; tail: string };
    expect(outer.tail).toBe('kept');
    expect(() => JSON.parse(outer.msg) as unknown).not.toThrow();
  });

  it.each([
    'password',
    'api_key',
    'apiKey',
    'openai_api_key',
    'Authorization',
    'proxy-authorization',
    'access_token',
    'token',
    'secret',
    'client_secret',
    'webhook_secret',
    'cookie',
    'private_key',
    'secret_access_key',
    'code_verifier',
    'x-goog-api-key',
  ])('hides the member %s at any depth, whatever its value looks like', (name) => {
    const line = JSON.stringify({ a: { b: [{ [name]: 'open "sesame" \\ now', kept: 'yes' }] } });
    const scrubbed = scrubLine(line);
    expect(scrubbed).not.toMatch(/sesame/);
    expect((JSON.parse(scrubbed) as { a: { b: { kept: string }[] } }).a.b[0]?.kept).toBe('yes');
  });

  it.each([
    'Batch batch_01 finished: 64 completed, 2 failed',
    'task-management-list of the risk-averse desk-1234567890',
    'prompt_tokens: 1234, completion_tokens: 77',
    'max_tokens=4096 token_type=access',
    'GET /api/v1/models/openai/gpt-4o-mini took 12 ms at 127.0.0.1:8080',
    'connected to postgres://db:5432/sluice',
    'basic information about the bearer token',
    'see https://example.com/a?page=2&limit=10',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    '018f3c1e-7b7a-7c3d-9d2b-0a1b2c3d4e5f',
    'key sk-sluice-v1-abc...xyz',
  ])('leaves %p alone', (text) => {
    const line = JSON.stringify({ msg: text });
    expect(scrubLine(line)).toBe(line);
  });

  it('hides the whole of a quoted member that has quotes inside', () => {
    const body = JSON.stringify({ api_key: 'open "sesame" \\ now', kept: 'yes' });
    const scrubbed = scrubLine(JSON.stringify({ msg: `upstream said ${body}`, tail: 'kept' }));
    expect(scrubbed).not.toMatch(/sesame|now/);
    const { msg, tail } = JSON.parse(scrubbed) as { msg: string; tail: string };
    expect(tail).toBe('kept');
    expect(JSON.parse(msg.slice('upstream said '.length))).toEqual({ api_key: '[redacted]', kept: 'yes' });
  });

  it('takes time in step with the length of a hostile line', () => {
    const parts = [
      'a',
      '://',
      'sk-',
      ':',
      '@',
      'Bearer ',
      '\\\\',
      '"',
      'eyJ',
      '.',
      '-----BEGIN PRIVATE KEY-----',
      'key=',
      'api_',
      '-',
    ];
    const before = process.threadCpuUsage();
    for (const part of parts) scrubLine(part.repeat(Math.ceil(200_000 / part.length)));
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(3_000);
  });
});
