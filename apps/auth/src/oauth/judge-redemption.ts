import { timingSafeEqual } from 'node:crypto';
import type { ChallengeMethod } from '@libs/contracts';

/** A code as it stands in its locked row. */
export interface CodeState {
  /** Its time is over, or that of its workspace. */
  readonly isExpired: boolean;
  readonly usedAt: Date | null;
  readonly failedAttempts: number;
  readonly challenge: string | null;
  readonly challengeMethod: ChallengeMethod | null;
}

/** What was shown for it. */
export interface CodeProof {
  readonly challenge: string | null;
  readonly challengeMethod: ChallengeMethod | null;
  readonly receivedAt: Date;
}

/**
 * - `redeemed`: make the key.
 * - `refused`: nothing changes.
 * - `wrong-proof`, `wrong-method`: refused, and counted against the code.
 * - `replayed`: refused, and the key that was made of the code is revoked.
 */
export type Verdict = 'redeemed' | 'refused' | 'wrong-proof' | 'wrong-method' | 'replayed';

/** A code is burnt after so many wrong proofs. */
const MAX_FAILED_ATTEMPTS = 5;

/**
 * Whether a code becomes a key (RFC 6749 §4.1.2, RFC 7636 §4.6, RFC 9700 §2.1.1).
 *
 * A code that comes again after it was used is in two hands, and nobody can tell which of them has the key.
 * A request that was on its way before that moment is a copy of the winner, sent by whoever sent the winner.
 * A verifier for a code without a challenge is refused too: somebody took the challenge out on the way.
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
