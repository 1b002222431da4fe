import { randomBytes, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { Secret } from '@libs/contracts';
import { EnvelopeCipher, type CredentialIdentity, type SealedKey } from './envelope-cipher';
import type { RingKey } from './key-ring';
import { LocalKeyWrapper } from './local-key-wrapper';
import { openBytes, sealBytes } from './sealed-bytes';

const KEY = 'sk-canary-0123456789';
const newKey = (id: string): RingKey => ({ id, key: randomBytes(32) });
const anIdentity = (): CredentialIdentity => ({
  id: randomUUID(),
  organizationId: randomUUID(),
  workspaceId: randomUUID(),
  provider: 'openai',
});

const [older, newer] = [newKey('older'), newKey('newer')];
const before = new EnvelopeCipher(new LocalKeyWrapper([older]));
const during = new EnvelopeCipher(new LocalKeyWrapper([newer, older]));
const after = new EnvelopeCipher(new LocalKeyWrapper([newer]));

function opens(cipher: EnvelopeCipher, sealed: SealedKey, identity: CredentialIdentity): Promise<string> {
  return cipher.open(sealed, identity).then(
    (secret) => secret.reveal(),
    (error: { code: string; internal: string }) => {
      expect(error.code).toBe('server');
      expect(error.internal).toContain('cannot be opened');
      return 'refused';
    },
  );
}

describe(EnvelopeCipher.name, () => {
  const identity = anIdentity();

  it('opens what it sealed, and what is stored shows nothing of it', async () => {
    const sealed = await before.seal(new Secret(KEY), identity);
    const stored = Buffer.concat([Buffer.from(sealed.sealedKey), sealed.dataKey.wrapped]);
    for (const encoding of ['utf8', 'base64url', 'hex'] as const) {
      expect(stored.toString('latin1')).not.toContain(Buffer.from(KEY).toString(encoding).slice(0, 12));
    }
    expect(await opens(before, sealed, identity)).toBe(KEY);
  });

  it('seals the same key differently every time, under data keys that differ', async () => {
    const sealed = await Promise.all(Array.from({ length: 50 }, () => before.seal(new Secret(KEY), identity)));
    expect(new Set(sealed.map(({ sealedKey }) => sealedKey.split('.')[1])).size).toBe(50);
    expect(new Set(sealed.map(({ dataKey }) => dataKey.wrapped.toString('hex'))).size).toBe(50);
  });

  it('opens no row that was copied over another', async () => {
    const rows = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const one = index < 6 ? { ...identity, id: randomUUID() } : anIdentity();
        return { identity: one, sealed: await before.seal(new Secret(KEY), one) };
      }),
    );
    const opened = rows.flatMap((row, to) =>
      rows.map(async (other, from) => (await opens(before, other.sealed, row.identity)) === KEY && from !== to),
    );
    expect((await Promise.all(opened)).filter(Boolean)).toEqual([]);
  });

  it('opens no mixture of two rows of one owner', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => before.seal(new Secret(KEY), identity)));
    expect(await opens(before, { dataKey: one!.dataKey, sealedKey: other!.sealedKey }, identity)).toBe('refused');
  });

  it.each(['id', 'organizationId', 'workspaceId', 'provider'] as const)('is bound to the %s', async (member) => {
    const sealed = await before.seal(new Secret(KEY), identity);
    expect(await opens(before, sealed, { ...identity, [member]: randomUUID() })).toBe('refused');
  });

  it('cannot be fooled by an identity that reads alike when its members run together', async () => {
    const sealed = await before.seal(new Secret(KEY), { ...identity, workspaceId: 'a', organizationId: 'b","c' });
    expect(await opens(before, sealed, { ...identity, workspaceId: 'a","b', organizationId: 'c' })).toBe('refused');
  });

  it('does not open with any bit flipped, nor with a byte less or more', async () => {
    const sealed = await before.seal(new Secret(KEY), identity);
    const { wrapped } = sealed.dataKey;
    for (let bit = 0; bit < wrapped.length * 8; bit += 1) {
      const dataKey = { ...sealed.dataKey, wrapped: flipped(wrapped, bit) };
      expect(await opens(before, { ...sealed, dataKey }, identity)).toBe('refused');
    }
    const [version, ...parts] = sealed.sealedKey.split('.');
    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url');
      const broken = Array.from({ length: bytes.length * 8 }, (_, bit) => flipped(bytes, bit));
      for (const one of [...broken, bytes.subarray(1), bytes.subarray(0, -1), Buffer.concat([bytes, bytes])]) {
        const changed = parts.with(index, one.toString('base64url'));
        expect(await opens(before, { ...sealed, sealedKey: [version, ...changed].join('.') }, identity)).toBe(
          'refused',
        );
      }
    }
    for (const text of ['', 'v1', `v2.${parts.join('.')}`, `${sealed.sealedKey}.`, `${sealed.sealedKey}=`]) {
      expect(await opens(before, { ...sealed, sealedKey: text }, identity)).toBe('refused');
    }
  });

  it('opens no tag that was shortened', () => {
    const key = randomBytes(32);
    const sealed = sealBytes(key, Buffer.from(KEY), 'context');
    for (let bytes = 1; bytes <= 16; bytes += 1) {
      expect(() => openBytes(key, sealed.subarray(0, -bytes), 'context')).toThrow();
    }
  });

  it('does not open under the name of another key of the ring', async () => {
    const sealed = await during.seal(new Secret(KEY), identity);
    expect(sealed.dataKey.keyEncryptionKeyId).toBe('newer');
    const dataKey = { ...sealed.dataKey, keyEncryptionKeyId: 'older' };
    expect(await opens(during, { ...sealed, dataKey }, identity)).toBe('refused');
  });

  it('opens with both rings while keys change, and with the new one alone once it was wrapped anew', async () => {
    const sealed = await before.seal(new Secret(KEY), identity);
    expect(await opens(during, sealed, identity)).toBe(KEY);
    expect(await opens(after, sealed, identity)).toBe('refused');
    const rewrapped = { ...sealed, dataKey: await during.rewrap(sealed.dataKey, identity) };
    expect(rewrapped.dataKey.keyEncryptionKeyId).toBe('newer');
    expect(await opens(after, rewrapped, identity)).toBe(KEY);
    expect(await opens(before, rewrapped, identity)).toBe('refused');
    await expect(during.rewrap(sealed.dataKey, anIdentity())).rejects.toMatchObject({ code: 'server' });
  });

  it('shows no key-encryption key to whoever prints it', () => {
    const text = inspect(during, { depth: 9, showHidden: true }) + JSON.stringify(during);
    expect(text).not.toContain(newer.key.toString('hex').slice(0, 4));
    expect(text).not.toContain('Map(');
  });
});

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}
