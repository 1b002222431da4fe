import { hashApiKey, labelApiKey, mintApiKey, readApiKeyKind } from './api-key-format';

describe('API key format', () => {
  it('reads back the kind of every key it minted', () => {
    for (let i = 0; i < 200; i += 1) {
      expect(readApiKeyKind(mintApiKey('sluice', 'api'))).toBe('api');
      expect(readApiKeyKind(mintApiKey('sluice', 'management'))).toBe('management');
    }
  });

  it('starts every key with the service prefix', () => {
    expect(mintApiKey('sluice', 'api')).toMatch(/^sk-sluice-v1-[0-9A-Za-z]{49}$/);
    expect(mintApiKey('sluice', 'management')).toMatch(/^sk-sluice-v1-mgmt-[0-9A-Za-z]{49}$/);
  });

  it('refuses a key with any one character changed', () => {
    const key = mintApiKey('sluice', 'api');
    for (let i = 'sk-sluice-v1-'.length; i < key.length; i += 1) {
      const other = key[i] === 'a' ? 'b' : 'a';
      expect(readApiKeyKind(key.slice(0, i) + other + key.slice(i + 1))).toBeNull();
    }
  });

  it('refuses the hash of a key, and a key with anything around it', () => {
    const key = mintApiKey('sluice', 'api');
    for (const wrong of [hashApiKey(key), ` ${key}`, `${key} `, `${key}\n`, '', 'sk-sluice-v1-']) {
      expect(readApiKeyKind(wrong)).toBeNull();
    }
  });

  it('keeps a key valid after the service was renamed', () => {
    expect(readApiKeyKind(mintApiKey('other-name', 'api'))).toBe('api');
  });

  it('labels a key with three characters at either end of its secret', () => {
    const key = mintApiKey('sluice', 'api');
    expect(labelApiKey(key)).toBe(`sk-sluice-v1-${key.slice(13, 16)}...${key.slice(-3)}`);
  });
});
