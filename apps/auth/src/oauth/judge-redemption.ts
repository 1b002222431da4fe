import { timingSafeEqual } from 'node:crypto';
import type { ChallengeMethod } from '@libs/contracts';

/** The state of a code in its locked row. */
export interface CodeState {
  /** The code has expired or its workspace is deleted. */
  readonly isExpired: boolean;
  readonly usedAt: Date | null;
  readonly failedAttempts: number;
  readonly challenge: string | null;
  readonly challengeMethod: ChallengeMethod | null;
}

/** The proof that came with the code. */
export interface CodeProof {
  readonly challenge: string | null;
  readonly challengeMethod: ChallengeMethod | null;
  readonly receivedAt: Date;
}

/**
 * - `redeemed`: create the key.
 * - `refused`: nothing changes.
 * - `wrong-proof`, `wrong-method`: refused, and counted against the code.
 * - `replayed`: refused, and the key that was created from the code is revoked.
 */
export type Verdict = 'redeemed' | 'refused' | 'wrong-proof' | 'wrong-method' | 'replayed';

/** A code is blocked after this many wrong proofs. */
const MAX_FAILED_ATTEMPTS = 5;

/**
 * Decides whether a code becomes a key (RFC 6749 §4.1.2, RFC 7636 §4.6, RFC 9700 §2.1.1).
 *
 * A code that is sent again after its use has leaked, and the key may belong to the thief: the verdict is `replayed`.
 * A request that was received before the code was used is a copy of the winning request and is only refused.
 * A verifier for a code without a challenge is refused: the challenge may have been removed on the way.
 */
export function judgeRedemption(code: CodeState, proof: CodeProof): Verdict {
  if (code.usedAt !== null) return proof.receivedAt > code.usedAt ? 'replayed' : 'refused';
  if (code.isExpired || code.failedAttempts >= MAX_FAILED_ATTEMPTS) return 'refused';
  if (proof.challengeMethod !== null && proof.challengeMethod !== code.challengeMethod) return 'wrong-method';
  return matches(code.challenge, proof.challenge) ? 'redeemed' : 'wrong-proof';
}

function matches(expected: string | null, given: string | null): boolean {
  if (expected === null || given === null) return expected === given;
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
