import { generateKeyPairSync } from 'node:crypto';
import { PARTY_NAMES, type PartyName } from './parties';

export interface BrokerKeys {
  /** Each for its party alone, as `BROKER_PRIVATE_KEYS`. */
  readonly privateKeys: Readonly<Record<PartyName, string>>;
  /** All public keys, in the form of `BROKER_PUBLIC_KEYS`. */
  readonly publicKeys: string;
}

/** Returns new keys on the broker for every party. */
export function newBrokerKeys(): BrokerKeys {
  const pairs = PARTY_NAMES.map((party) => {
    const { d, x } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
    return { party, privateKey: d!, publicKey: x! };
  });
  return {
    privateKeys: Object.fromEntries(
      pairs.map(({ party, privateKey }) => [party, privateKey]),
    ) as BrokerKeys['privateKeys'],
    publicKeys: pairs.map(({ party, publicKey }) => `${party}:${publicKey}`).join(','),
  };
}
