import { newBrokerKeys, PARTY_NAMES, Secret, type BrokerKeys, type PartyName } from '@libs/contracts';
import { EnvError } from '../config/env-error';
import { BrokerIdentity } from './broker-identity';

const CONTENT = Buffer.from('content');
const FIELDS = ['question', 'gateway', 'auth'];

/** A party with these private keys, among these public ones. */
function party(name: PartyName, own: readonly string[], publicKeys: string): BrokerIdentity {
  return BrokerIdentity.from(name, {
    BROKER_PRIVATE_KEYS: new Secret(own.join(',')),
    BROKER_PUBLIC_KEYS: publicKeys,
  });
}

const publicKeyOf = (name: PartyName, { publicKeys }: BrokerKeys): string =>
  publicKeys.split(',').find((item) => item.startsWith(`${name}:`))!;

/** Whether a message of one arrives at the other, under the key that the one takes. */
function isAccepted(from: BrokerIdentity, by: BrokerIdentity): boolean {
  const key = from.keyTo(by.party);
  return by.keyFrom(from.party, key.name)?.isSigned(FIELDS, CONTENT, key.sign(FIELDS, CONTENT)) === true;
}

function problemOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof EnvError) return error.message;
    throw error;
  }
  throw new Error('the keys were accepted');
}

describe(BrokerIdentity.name, () => {
  const keys = newBrokerKeys();
  const { privateKeys, publicKeys } = keys;
  const as = (name: PartyName): BrokerIdentity => party(name, [privateKeys[name]], publicKeys);

  it('makes every two parties agree on a key', () => {
    for (const one of PARTY_NAMES) for (const other of PARTY_NAMES) expect(isAccepted(as(one), as(other))).toBe(true);
  });

  it('makes no two pairs agree on the same key', () => {
    const signatures = PARTY_NAMES.map((name) => as('auth').keyTo(name).sign(FIELDS, CONTENT));
    expect(new Set(signatures).size).toBe(PARTY_NAMES.length);
  });

  it('accepts no signature over other fields, over another content, or of another length', () => {
    const key = as('gateway').keyTo('auth');
    const signature = key.sign(FIELDS, CONTENT);
    expect(key.isSigned(FIELDS, CONTENT, signature)).toBe(true);
    expect(key.isSigned([...FIELDS, ''], CONTENT, signature)).toBe(false);
    expect(key.isSigned(['question', 'gateway,auth'], CONTENT, signature)).toBe(false);
    expect(key.isSigned(FIELDS, Buffer.from('Content'), signature)).toBe(false);
    for (const other of ['', signature.slice(1), `${signature}=`]) {
      expect(key.isSigned(FIELDS, CONTENT, other)).toBe(false);
    }
  });

  it('refuses a message in the name of one party under the key of another', () => {
    const key = as('video-worker').keyTo('auth');
    expect(as('auth').keyFrom('gateway', key.name)).toBeUndefined();
  });

  it('accepts both keys of a party at every step of a replacement, and the old one no more after it', () => {
    const fresh = newBrokerKeys();
    const [old, next] = [privateKeys.auth, fresh.privateKeys.auth];
    const both = `${publicKeys},${publicKeyOf('auth', fresh)}`;
    const after = both.replace(`${publicKeyOf('auth', keys)},`, '').replace(`,${publicKeyOf('auth', keys)}`, '');
    const steps = [
      { own: [old], lists: [publicKeys, both] },
      { own: [next, old], lists: [both] },
      { own: [next, old], lists: [both, after] },
      { own: [next], lists: [after] },
    ];
    for (const { own, lists } of steps) {
      for (const ownList of lists) {
        for (const list of lists) {
          const [auth, gateway] = [party('auth', own, ownList), party('gateway', [privateKeys.gateway], list)];
          expect([isAccepted(auth, gateway), isAccepted(gateway, auth)]).toEqual([true, true]);
        }
      }
    }
    expect(isAccepted(as('auth'), party('gateway', [privateKeys.gateway], after))).toBe(false);
  });

  const unusable = 'A'.repeat(43);

  it.each<[string, string, () => unknown]>([
    ['no keys at all', 'BROKER_PRIVATE_KEYS must be a private key of auth', () => BrokerIdentity.from('auth', {})],
    ['no keys at all', 'BROKER_PUBLIC_KEYS must be', () => BrokerIdentity.from('auth', {})],
    ['the key of another app', 'under the name auth', () => party('auth', [privateKeys.gateway], publicKeys)],
    ['a list without the app', 'under the name cli', () => party('cli', [privateKeys.cli], publicKeyOf('auth', keys))],
    ['one key under two names', 'no key twice', () => party('auth', [privateKeys.auth], twice('gateway'))],
    ['a public key that is none', 'no X25519 key', () => party('auth', [privateKeys.auth], withKey(unusable))],
    ['three keys of one app', 'at most two keys of cli', () => party('auth', [privateKeys.auth], crowded())],
  ])('does not start with %s: %s', (_, problem, make) => {
    expect(problemOf(make)).toContain(problem);
    expect(problemOf(make)).not.toContain(privateKeys.auth);
  });

  const twice = (name: PartyName): string => `${publicKeys},${name}:${publicKeyOf('auth', keys).slice('auth:'.length)}`;
  const withKey = (key: string): string => `${publicKeys},cli:${key}`;
  const crowded = (): string =>
    [publicKeys, publicKeyOf('cli', newBrokerKeys()), publicKeyOf('cli', newBrokerKeys())].join(',');
});
