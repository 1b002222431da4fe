import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { findRsaKeyProblem } from './rsa-private-key';
import { crookedRsaKey, derOf, integer, numbersOf, PARTS, pemOf, rsaKey } from './testing/rsa-keys';

const FORM = 'must be an RSA key in PKCS #8';
const SIZE = 'must be of 2048 to 4096 bits';
const PARTS_DIFFER = 'has parts that do not fit together';

describe(findRsaKeyProblem.name, () => {
  const good = rsaKey(2_048);
  const numbers = numbersOf(good);

  it.each([2_048, 3_072, 4_096])('takes a key of %i bits', (bits) => {
    expect(findRsaKeyProblem(rsaKey(bits))).toBeNull();
  });

  it('takes a key as it is written here', () => {
    expect(pemOf(derOf(numbers))).toBe(good);
    expect(findRsaKeyProblem(good.trimEnd())).toBeNull();
  });

  it.each([1_024, 2_040, 4_104])('refuses a key of %i bits', (bits) => {
    expect(findRsaKeyProblem(rsaKey(bits))).toBe(SIZE);
  });

  it('refuses a large key with small primes, which has as few characters as an honest one of 4096 bits', () => {
    const pem = crookedRsaKey(9_600);
    expect(pem.length).toBeLessThan(3_500);
    expect(findRsaKeyProblem(pem)).toBe(SIZE);
    expect(findRsaKeyProblem(crookedRsaKey(4_096))).toBe(PARTS_DIFFER);
  });

  it.each(PARTS.slice(1))('refuses a key with another %s', (part) => {
    const changed = Buffer.from(numbers[part]);
    changed[changed.length - 1]! ^= 2;
    expect(findRsaKeyProblem(pemOf(derOf({ ...numbers, [part]: changed })))).toBe(PARTS_DIFFER);
    expect(findRsaKeyProblem(pemOf(derOf({ ...numbers, [part]: Buffer.alloc(1) })))).toBe(PARTS_DIFFER);
    expect(findRsaKeyProblem(pemOf(derOf({ ...numbers, [part]: Buffer.alloc(600, 0xff) })))).toBe(PARTS_DIFFER);
  });

  const other = (kind: 'ec' | 'dsa' | 'rsa-pss'): string => {
    const made = {
      ec: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      dsa: () => generateKeyPairSync('dsa', { modulusLength: 1_024, divisorLength: 160 }),
      'rsa-pss': () => generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }),
    };
    return made[kind]().privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  };

  it.each([
    ['a key of a curve', () => other('ec')],
    ['a key of DSA', () => other('dsa')],
    ['a key for PSS alone', () => other('rsa-pss')],
    ['PKCS #1', () => createPrivateKey(good).export({ type: 'pkcs1', format: 'pem' }) as string],
    ['the label of a key of a curve', () => good.replaceAll('PRIVATE', 'EC PRIVATE')],
    ['more primes than two', () => pemOf(derOf(numbers, { version: 1 }))],
    ['one number too many', () => pemOf(derOf(numbers, { rest: [integer(Buffer.from([1]))] }))],
    ['bytes behind the key', () => pemOf(Buffer.concat([derOf(numbers), Buffer.alloc(3)]))],
    ['a key that is cut', () => pemOf(derOf(numbers).subarray(0, -30))],
    ['base64 that readers read differently', () => good.replace('MII', 'M=I')],
    ['no DER', () => pemOf(randomBytes(1_200))],
    ['nothing', () => ''],
  ])('refuses %s', (_what, pem: () => string) => {
    expect(findRsaKeyProblem(pem())).toBe(FORM);
  });

  it('refuses lengths that are not in their shortest form', () => {
    const der = derOf(numbers);
    const longer = Buffer.concat([Buffer.from([0x30, 0x83, 0x00]), der.subarray(2)]);
    expect(findRsaKeyProblem(pemOf(longer))).toBe(FORM);
  });
});
