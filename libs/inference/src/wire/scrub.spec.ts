import { scrub, withoutKey } from './scrub';

describe(scrub.name, () => {
  it.each([
    ['Incorrect API key provided: sk-proj-abc123DEF456ghi789.', 'Incorrect API key provided: [redacted]'],
    ['key sk-ant-api03-xxxxxxxx_yyy is revoked', 'key [redacted] is revoked'],
    ['Authorization: Bearer abc.def.ghi', 'Authorization: [redacted]'],
    ['https://x.test/v1?key=secret123&alt=1 said no', '[address] said no'],
    ['no route to vllm-0.vllm.prod.svc.cluster.local:8000', 'no route to [address]'],
    ['ask gpu7.internal, please', 'ask [address], please'],
    ['connect ECONNREFUSED 10.0.0.7:8000', 'connect ECONNREFUSED [address]'],
    ['AIzaSyA1234567890abcdefg is invalid', '[redacted] is invalid'],
    ['AKIAIOSFODNN7EXAMPLE is invalid', '[redacted] is invalid'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.sig', 'token [redacted]'],
    ['in organization org-AbCdEf123456', 'in organization [redacted]'],
    ['request 0123456789abcdef0123456789abcdef failed', 'request [redacted] failed'],
  ])('hides what may be a secret in %j', (text, shown) => {
    expect(scrub(text)).toBe(shown);
  });

  it('leaves ordinary words alone', () => {
    const text =
      "This model's maximum context length is 128000 tokens; 'max_completion_tokens' must be smaller, not tools.0.local_shell or x.internal_id.";
    expect(scrub(text)).toBe(text);
  });

  it('cuts long texts and replaces control characters', () => {
    expect(scrub('a\u0000\r\nb')).toBe('a b');
    expect(scrub('word '.repeat(1_000))).toHaveLength(499);
  });

  it('leaves nothing of a key that the cut would split', () => {
    expect(scrub(`${'x '.repeat(245)}sk-acme-0123456789abcdefghij`)).not.toContain('sk-acme');
  });

  it('is not kept busy by a hostile text', () => {
    const before = process.threadCpuUsage();
    for (const piece of ['sk-', 'a', '-_', 'http://', '1.', 'bearer ', 'a1_']) scrub(piece.repeat(100_000));
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});

describe(withoutKey, () => {
  it('removes the key from a refusal, whatever it looks like', () => {
    const body = Buffer.from('{"error":"no such key: plain-words, you sent plain-words"}');
    expect(withoutKey(body, 'plain-words').toString()).toBe('{"error":"no such key: [redacted], you sent [redacted]"}');
  });

  it.each(['', 'another'])('leaves a refusal alone that does not hold %j', (key) => {
    const body = Buffer.from('{"error":"no"}');
    expect(withoutKey(body, key)).toBe(body);
  });
});
