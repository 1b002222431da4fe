import { findMember, scanMembers, spliceMembers } from '@libs/json';
import { brokenAnswer } from '../../wire/upstream-error';
import type { Endpoint, Provider } from '../../catalogue/catalogue';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import { scanRequest } from '../request-members';
import { retainedMembers } from '../retained-members';
import { MESSAGES_GATEWAY_MEMBERS } from './gateway-members';
import { dropForeignContent } from './relayed-request';
import { readOrRefuse, valueOf } from './relayed-answer';

/** Fields that control the answer: `count_tokens` has no answer and refuses them. */
const ANSWER_MEMBERS: readonly string[] = [
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p',
];

/** Returns the caller's body in the form that `POST /messages/count_tokens` of the endpoint's upstream accepts. */
export function toTokenCount(body: Buffer, endpoint: Endpoint, account = SHARED_ACCOUNT): Buffer {
  const request = scanRequest(body);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  const retained = retainedMembers(request, set, { api: 'messages', account });
  const unsent = [...retained, ...dropForeignContent(request, set)];
  return spliceMembers(request, { set, remove: [...MESSAGES_GATEWAY_MEMBERS, ...ANSWER_MEMBERS, ...unsent] });
}

/** Returns the `input_tokens` that the upstream counted. @throws AppError provider_unavailable if they are missing */
export function readTokenCount(body: Buffer, provider: Provider): number {
  const count = readOrRefuse(provider, () => {
    const scanned = scanMembers(body);
    const member = findMember(scanned, 'input_tokens');
    return member && valueOf(scanned, member);
  });
  if (Number.isSafeInteger(count) && (count as number) >= 0) return count as number;
  throw brokenAnswer(provider, 'the count of tokens has no input_tokens');
}
