import { newBrokerKeys, PARTY_NAMES, Secret, type PartyName } from '@libs/contracts';
import { BrokerIdentity } from '../broker-identity';
import { UsedQuestions } from '../used-questions';

/** Who each party is in a test; they know each other. */
export type TestIdentities = Readonly<Record<PartyName, BrokerIdentity>>;

export function testIdentities(): TestIdentities {
  const { privateKeys, publicKeys } = newBrokerKeys();
  const identityOf = (party: PartyName): BrokerIdentity =>
    BrokerIdentity.from(party, {
      BROKER_PRIVATE_KEYS: new Secret(privateKeys[party]),
      BROKER_PUBLIC_KEYS: publicKeys,
    });
  return Object.fromEntries(PARTY_NAMES.map((party) => [party, identityOf(party)])) as Record<
    PartyName,
    BrokerIdentity
  >;
}

/** Remembers questions in this process. */
export class KnownQuestions extends UsedQuestions {
  readonly #ids = new Set<string>();

  override async claim(asker: PartyName, id: string): Promise<boolean> {
    const isNew = !this.#ids.has(`${asker} ${id}`);
    this.#ids.add(`${asker} ${id}`);
    return isNew;
  }
}
