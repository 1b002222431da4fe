import { EXCHANGE_PURPOSE, Secret, type SealedExchange, type SealingJwk } from '@libs/contracts';
import { seal, SealingKeyPair } from '@libs/platform';

/** A request that only the auth app can decrypt, and the key pair that decrypts its answer. */
export interface SealedQuestion {
  readonly sealed: string;
  readonly answerPair: SealingKeyPair;
}

/** Encrypts a subject token for transport through the broker. */
export async function sealExchange(subjectToken: string, { x, kid }: SealingJwk): Promise<SealedQuestion> {
  const answerPair = SealingKeyPair.generate();
  const exchange: SealedExchange = { subjectToken, replyKey: answerPair.publicKey };
  const target = { publicKey: x, keyId: kid };
  return { sealed: await seal(new Secret(JSON.stringify(exchange)), target, EXCHANGE_PURPOSE), answerPair };
}
