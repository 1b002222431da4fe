import { inspect } from 'node:util';
import { hashApiKey, mintApiKey } from '@libs/contracts';
import { KnownKeys } from './known-keys';

describe(KnownKeys.name, () => {
  let nowMs: number;
  let keys: KnownKeys;
  const key = mintApiKey('sluice', 'api');

  beforeEach(() => {
    nowMs = 1_000;
    keys = new KnownKeys(() => nowMs);
  });

  it('gives the same hash, however long ago and whether known or not', () => {
    for (const waitMs of [0, 1, 5_000, 5_000, 60_000]) {
      nowMs += waitMs;
      expect(keys.hashOf(key)).toBe(hashApiKey(key));
    }
  });

  it('gives none for what was never minted, also beside a key it knows', () => {
    keys.hashOf(key);
    const mistyped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    for (const text of [mistyped, `${key} `, '', 'sk-sluice-v1-x']) expect(keys.hashOf(text)).toBeNull();
  });

  it('shows no key to whoever prints it', () => {
    keys.hashOf(key);
    expect(inspect(keys, { depth: 9, showHidden: true }) + JSON.stringify(keys)).not.toContain(key.slice(-20));
  });
});
