import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { PARTY_NAMES, type PartyName, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { EnvError } from '../config/env-error';

/** The variables that identify a process on the broker. */
export interface BrokerKeysEnv {
  readonly BROKER_PRIVATE_KEYS?: Secret;
  readonly BROKER_PUBLIC_KEYS?: string;
}

/** PKCS #8 around the 32 bytes of an X25519 private key (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SECRET_BYTES = 32;
const PURPOSE = 'sluice broker messages';
const MOST_KEYS_OF_A_PARTY = 2;

interface OwnKey {
  readonly privateKey: KeyObject;
  readonly publicKey: string;
}

/**
 * The key with which two apps sign their messages to each other. It is derived from the private key of one and the
 * public key of the other (X25519, then HKDF), so a third party can only have it if it has one of the private keys.
 */
export class PairKey {
  /** A KeyObject, because bytes would be parsed again for each signature, which takes four times as long. */
  readonly #secret: KeyObject;

  /** @param name the public keys of the sender and of the receiver, shortened */
  constructor(
    readonly name: string,
    secret: Buffer,
  ) {
    this.#secret = createSecretKey(secret);
  }

  /** HMAC-SHA-256 of the fields and the content. The end of a list in JSON is certain, so the two cannot be shifted. */
  sign(fields: readonly string[], content: Buffer): string {
    return createHmac('sha256', this.#secret).update(JSON.stringify(fields)).update(content).digest('base64url');
  }

  isSigned(fields: readonly string[], content: Buffer, signature: string): boolean {
    const [given, own] = [Buffer.from(signature), Buffer.from(this.sign(fields, content))];
    return given.length === own.length && timingSafeEqual(given, own);
  }
}

/**
 * Identifies a process among the apps on the broker: its own key pairs and the public keys of the others. Each may have
 * two keys, so that a key can be replaced while messages signed with the old one are still accepted.
 */
export class BrokerIdentity {
  readonly #own: readonly OwnKey[];
  /** Keys by name, limited by the number of keys. */
  readonly #pairs = new Map<string, PairKey>();

  private constructor(
    readonly party: PartyName,
    privateKeys: readonly string[],
    private readonly publicKeys: ReadonlyMap<string, readonly string[]>,
  ) {
    this.#own = privateKeys.map(ownKeyOf);
  }

  /** @throws EnvError that names each variable that is missing or does not go with the other */
  static from(party: PartyName, { BROKER_PRIVATE_KEYS: own, BROKER_PUBLIC_KEYS: all }: BrokerKeysEnv): BrokerIdentity {
    if (own === undefined || all === undefined) {
      throw new EnvError([
        ...(own === undefined ? [`BROKER_PRIVATE_KEYS must be a private key of ${party} (it is not set)`] : []),
        ...(all === undefined ? ['BROKER_PUBLIC_KEYS must be the public keys of all parties (it is not set)'] : []),
      ]);
    }
    const publicKeys = Map.groupBy(all.split(',').map(partyAndKey), ([name]) => name);
    const identity = new BrokerIdentity(
      party,
      own.reveal().split(','),
      new Map([...publicKeys].map(([name, pairs]) => [name, pairs.map(([, key]) => key)])),
    );
    const problem = identity.#problem();
    if (problem !== undefined) throw new EnvError([problem]);
    return identity;
  }

  /**
   * Returns the key for messages to a party, made from the first keys of both.
   * @throws AppError server if it has none
   */
  keyTo(party: PartyName): PairKey {
    const [own] = this.#own;
    const [theirs] = this.publicKeys.get(party) ?? [];
    if (own !== undefined && theirs !== undefined) return this.#pair(own.publicKey, theirs, own, theirs);
    throw new AppError('server', 'Internal error', { internal: `BROKER_PUBLIC_KEYS has no key of ${party}` });
  }

  /** Returns the key that a message of a party names; undefined if it is not a key that both have now. */
  keyFrom(party: PartyName, name: string): PairKey | undefined {
    const known = this.#pairs.get(`${party} ${name}`);
    if (known !== undefined) return known;
    for (const theirs of this.publicKeys.get(party) ?? []) {
      const own = this.#own.find(({ publicKey }) => nameOf(theirs, publicKey) === name);
      if (own === undefined) continue;
      const pair = this.#pair(theirs, own.publicKey, own, theirs);
      this.#pairs.set(`${party} ${name}`, pair);
      return pair;
    }
    return undefined;
  }

  #pair(sender: string, receiver: string, own: OwnKey, theirs: string): PairKey {
    const name = nameOf(sender, receiver);
    const known = this.#pairs.get(name);
    if (known !== undefined) return known;
    const pair = new PairKey(name, sharedSecret(own, theirs));
    this.#pairs.set(name, pair);
    return pair;
  }

  #problem(): string | undefined {
    const all = [...this.publicKeys.values()].flat();
    if (new Set(all).size < all.length) return 'BROKER_PUBLIC_KEYS must have no key twice';
    const unusable = [...this.publicKeys].find(
      ([, keys]) => !keys.every((key) => this.#own.every((own) => agree(own, key))),
    );
    if (unusable !== undefined) return `BROKER_PUBLIC_KEYS has a key of ${unusable[0]} that is no X25519 key`;
    const crowded = [...this.publicKeys].filter(([, keys]) => keys.length > MOST_KEYS_OF_A_PARTY);
    if (crowded.length > 0) return `BROKER_PUBLIC_KEYS must have at most two keys of ${crowded[0]![0]}`;
    const known = this.publicKeys.get(this.party) ?? [];
    if (this.#own.some(({ publicKey }) => known.includes(publicKey))) return undefined;
    return `BROKER_PUBLIC_KEYS must have the public key of BROKER_PRIVATE_KEYS under the name ${this.party}`;
  }
}

function partyAndKey(item: string): readonly [string, string] {
  const [party = '', key = ''] = item.split(':');
  return [party, key];
}

function ownKeyOf(text: string): OwnKey {
  const key = Buffer.concat([PKCS8_HEAD, Buffer.from(text, 'base64url')]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey).export({ format: 'jwk' }).x! };
}

/** Returns undefined for a public key that cannot produce a shared secret. */
function agree({ privateKey }: OwnKey, theirs: string): Buffer | undefined {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: theirs }, format: 'jwk' });
    return diffieHellman({ privateKey, publicKey });
  } catch {
    return undefined;
  }
}

/** @throws AppError server for a public key that cannot produce a shared secret; `from` accepts none of these */
function sharedSecret(ownKey: OwnKey, theirs: string): Buffer {
  const own = ownKey.publicKey;
  const agreed = agree(ownKey, theirs);
  if (agreed === undefined) throw new AppError('server', 'Internal error', { internal: 'an unusable public key' });
  const purpose = [PURPOSE, ...[own, theirs].toSorted()].join(' ');
  return Buffer.from(hkdfSync('sha256', agreed, '', purpose, SECRET_BYTES));
}

/** Names a pair of keys by their beginnings, enough to distinguish a party's two; the signature decides. */
function nameOf(sender: string, receiver: string): string {
  return `${sender.slice(0, 8)}.${receiver.slice(0, 8)}`;
}

/** Whether a text is the name of a party. */
export function isParty(name: unknown): name is PartyName {
  return PARTY_NAMES.some((party) => party === name);
}
