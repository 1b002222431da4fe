import { newBrokerKeys, PARTY_NAMES, Secret, type PartyName } from '@libs/contracts';
import { BrokerIdentity } from '../broker-identity';
import { UsedQuestions, type ChangingQuestion, type Claim } from '../used-questions';

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
  /** Of the clock of this process. */
  aheadMs = 0;

  override async nowMs(): Promise<number> {
    return Date.now() + this.aheadMs;
  }

  override async claim({ asker, id, expiresAtMs }: ChangingQuestion): Promise<Claim> {
    if (expiresAtMs <= (await this.nowMs())) return 'late';
    const isNew = !this.#ids.has(`${asker} ${id}`);
    this.#ids.add(`${asker} ${id}`);
    return isNew ? 'first' : 'repeated';
  }

  override handle<T>(_question: ChangingQuestion, handler: () => Promise<T>): Promise<T> {
    return handler();
  }
}
