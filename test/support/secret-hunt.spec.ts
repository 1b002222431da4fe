import { randomBytes } from 'node:crypto';
import { encodeSecret, SECRET_ENCODINGS, SecretHunt } from './secret-hunt';

describe(SecretHunt.name, () => {
  const secret = `sk-"quo\\te/+${randomBytes(30).toString('base64')}`;
  const hunt = new SecretHunt();
  hunt.add('a key', secret);

  it.each(SECRET_ENCODINGS)('finds a secret in %s, at any place in a text', (encoding) => {
    for (let before = 0; before < 5; before += 1) {
      const noise = Buffer.from('x'.repeat(before * 3));
      const found = hunt.search('a log', Buffer.concat([noise, encodeSecret(secret, encoding), noise]));
      expect(found).toContainEqual(expect.objectContaining({ secret: 'a key #0', place: 'a log', encoding }));
    }
  });

  it('finds a secret that was cut at both ends', () => {
    const found = hunt.search('a log', Buffer.from(secret.slice(8, -8)));
    expect(found.map(({ encoding }) => encoding)).toContain('plain');
  });

  it.each(['base64', 'base64url'] as const)('finds a secret inside of a longer text in %s', (encoding) => {
    for (let before = 0; before < 6; before += 1) {
      const text = Buffer.from(`${'y'.repeat(before)}${secret}${'z'.repeat(before)}`).toString(encoding);
      expect(hunt.search('a row', Buffer.from(text)).map((find) => find.encoding)).toContain(encoding);
    }
  });

  it('finds nothing in what is no secret, and takes none that chance could write', () => {
    expect(hunt.search('a log', Buffer.from(`${secret.slice(0, 20)}…${secret.slice(-20)}`))).toEqual([]);
    expect(() => hunt.add('a label', 'sk-...abcd')).toThrow('too short');
  });
});
