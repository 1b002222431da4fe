import { EXCHANGE_PURPOSE, Secret, type SealedExchange, type SealingJwk } from '@libs/contracts';
import { seal, SealingKeyPair } from '@libs/platform';

/** A question that the auth app alone can read, and the pair that opens its answer. */
export interface SealedQuestion {
  readonly sealed: string;
  readonly answerPair: SealingKeyPair;
}

/** Encrypts a subject token for its way through the broker. */
export async function sealExchange(subjectToken: string, { x, kid }: SealingJwk): Promise<SealedQuestion> {
  const answerPair = SealingKeyPair.generate();
  const exchange: SealedExchange = { subjectToken, replyKey: answerPair.publicKey };
  const target = { publicKey: x, keyId: kid };
  return { sealed: await seal(new Secret(JSON.stringify(exchange)), target, EXCHANGE_PURPOSE), answerPair };
}
