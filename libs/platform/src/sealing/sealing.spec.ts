import { inspect } from 'node:util';
import { Secret } from '@libs/contracts';
import { keyIdOf, seal, SealingKeyPair } from './sealing';

const KEY = 'sk-canary-0123456789';
const refusal = { code: 'server', internal: 'a sealed text could not be opened' };

describe(SealingKeyPair.name, () => {
  it('opens what was sealed to it, and the text in between shows nothing', async () => {
    const pair = SealingKeyPair.generate();
    const sealed = await seal(new Secret(KEY), { publicKey: pair.publicKey, keyId: 'k1' }, 'question 1');
    expect(sealed).not.toContain(Buffer.from(KEY).toString('base64url'));
    expect(keyIdOf(sealed)).toBe('k1');
    expect((await pair.open(sealed, 'question 1')).reveal()).toBe(KEY);
  });

  it('seals the same text differently every time', async () => {
    const { publicKey } = SealingKeyPair.generate();
    const [one, other] = await Promise.all([1, 2].map(() => seal(new Secret(KEY), { publicKey }, 'p')));
    expect(one!.split('.').slice(0, 3)).not.toEqual(other!.split('.').slice(0, 3));
  });

  it('does not open what was sealed to another pair, or for another purpose', async () => {
    const pair = SealingKeyPair.generate();
    const sealed = await seal(new Secret(KEY), { publicKey: pair.publicKey }, 'question 1');
    await expect(pair.open(sealed, 'question 2')).rejects.toMatchObject(refusal);
    await expect(SealingKeyPair.generate().open(sealed, 'question 1')).rejects.toMatchObject(refusal);
  });

  it('does not open what was changed, wherever it was changed', async () => {
    const pair = SealingKeyPair.generate();
    const sealed = await seal(new Secret(KEY), { publicKey: pair.publicKey }, 'p');
    for (const [index, part] of sealed.split('.').entries()) {
      const parts = sealed.split('.');
      const middle = Math.floor(part.length / 2);
      const changed = part.at(middle) === 'A' ? 'B' : 'A';
      parts[index] = part === '' ? changed : part.slice(0, middle) + changed + part.slice(middle + 1);
      await expect(pair.open(parts.join('.'), 'p')).rejects.toMatchObject(refusal);
    }
    for (const text of ['', '....', sealed.slice(0, -4)]) {
      await expect(pair.open(text, 'p')).rejects.toMatchObject(refusal);
    }
  });

  it('is the same pair for the same seed, and another one for another', async () => {
    const seed = Buffer.alloc(32, 7);
    const sealed = await seal(new Secret(KEY), SealingKeyPair.fromSeed(seed), 'p');
    expect((await SealingKeyPair.fromSeed(seed).open(sealed, 'p')).reveal()).toBe(KEY);
    expect(SealingKeyPair.fromSeed(Buffer.alloc(32, 8)).publicKey).not.toBe(SealingKeyPair.fromSeed(seed).publicKey);
  });

  it('shows its private key to nobody who prints it', () => {
    const pair = SealingKeyPair.fromSeed(Buffer.alloc(32, 7));
    expect(Object.keys(pair)).toEqual(['publicKey']);
    expect(inspect(pair, { showHidden: true, depth: 9 })).not.toMatch(/KeyObject/);
  });
});

describe(keyIdOf.name, () => {
  it.each(['', 'x', 'x.y', 'bnVsbA.y', 'eyJraWQiOjF9.y'])('finds none in %j', (text) => {
    expect(keyIdOf(text)).toBeUndefined();
  });
});
