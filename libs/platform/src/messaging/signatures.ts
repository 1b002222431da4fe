import type { MessageProperties } from 'amqplib';
import type { PartyName } from '@libs/contracts';
import { isParty, type BrokerIdentity, type PairKey } from './broker-identity';
import { MAX_CALL_BYTES } from './message-codec';

/** Tolerance for clocks that differ. */
export const LEEWAY_MS = 30_000;
const FROM = 'x-from';
const KEYS = 'x-keys';
const EXPIRES = 'x-expires';
const SIGNATURE = 'x-signature';
const SIGNED_AT = 'x-signed-at';

type Headers = Readonly<Record<string, string | number>>;

/** The fields of a question that are signed with the asker, the owner and the content. */
export interface QuestionHead {
  readonly contractName: string;
  readonly replyTo: string;
  readonly id: string;
  readonly expiresAtMs: number;
}

/** A question that its asker has signed. */
export interface SignedQuestion extends QuestionHead {
  readonly asker: PartyName;
}

/** Why a message is not accepted; a label of the counter. */
export type Refusal =
  | 'too_large'
  | 'unsigned'
  | 'unknown_key'
  | 'forged'
  | 'expired'
  | 'misaddressed'
  | 'stranger'
  | 'repeated';

/** Returns the headers of a question. */
export function signQuestion(identity: BrokerIdentity, owner: PartyName, head: QuestionHead, content: Buffer): Headers {
  const key = identity.keyTo(owner);
  return {
    [FROM]: identity.party,
    [KEYS]: key.name,
    [EXPIRES]: String(head.expiresAtMs),
    [SIGNATURE]: key.sign(questionFields(identity.party, owner, head), content),
  };
}

/** Reads who asked a question and when it expires. Checks size and signature, and does not parse the content. */
export function readQuestion(
  identity: BrokerIdentity,
  properties: MessageProperties,
  content: Buffer,
): SignedQuestion | Refusal {
  if (content.length > MAX_CALL_BYTES) return 'too_large';
  const headers = headersOf(properties);
  const asker: unknown = headers[FROM];
  const expiresAtMs = Number(headers[EXPIRES]);
  const head = {
    contractName: textOf(properties.type),
    replyTo: textOf(properties.replyTo),
    id: textOf(properties.correlationId),
    expiresAtMs,
  };
  if (!isParty(asker)) return 'unsigned';
  const key = identity.keyFrom(asker, textOf(headers[KEYS]));
  if (key === undefined) return 'unknown_key';
  const fields = questionFields(asker, identity.party, head);
  if (!key.isSigned(fields, content, textOf(headers[SIGNATURE]))) return 'forged';
  return isReplyQueueOf(asker, head.replyTo) ? { asker, ...head } : 'misaddressed';
}

/** Names the question that an answer belongs to; signed with the owner, the asker and the content. */
export interface AnswerHead {
  readonly contractName: string;
  readonly id: string;
}

export function signAnswer(identity: BrokerIdentity, asker: PartyName, head: AnswerHead, content: Buffer): Headers {
  const key = identity.keyTo(asker);
  return { [KEYS]: key.name, [SIGNATURE]: key.sign(answerFields(identity.party, asker, head), content) };
}

/** Returns why a message is no answer to a question; null if the owner of the question has signed it as one. */
export function refusalOfAnswer(
  identity: BrokerIdentity,
  owner: PartyName,
  head: AnswerHead,
  { properties, content }: { readonly properties: MessageProperties; readonly content: Buffer },
): Refusal | null {
  if (content.length > MAX_CALL_BYTES) return 'too_large';
  const headers = headersOf(properties);
  const key = identity.keyFrom(owner, textOf(headers[KEYS]));
  return isSigned(key, answerFields(owner, identity.party, head), content, headers) ? null : 'forged';
}

/** Returns the headers of an event: a signature for each party that may follow. */
export function signEvent(
  identity: BrokerIdentity,
  { exchange, followers, nowMs }: { exchange: string; followers: readonly PartyName[]; nowMs: number },
  content: Buffer,
): Headers {
  const signatures = followers.flatMap((follower) => {
    const key = identity.keyTo(follower);
    const signature = key.sign(eventFields(identity.party, follower, exchange, String(nowMs)), content);
    return [
      [`${KEYS}-${follower}`, key.name],
      [`${SIGNATURE}-${follower}`, signature],
    ] as const;
  });
  return { [SIGNED_AT]: String(nowMs), ...Object.fromEntries(signatures) };
}

/** Returns why a message is no event; null if the owner of the exchange has signed it less than half a minute ago. */
export function refusalOfEvent(
  identity: BrokerIdentity,
  { exchange, owner, nowMs }: { exchange: string; owner: PartyName; nowMs: number },
  { properties, content }: { readonly properties: MessageProperties; readonly content: Buffer },
): Refusal | null {
  if (content.length > MAX_CALL_BYTES) return 'too_large';
  const headers = headersOf(properties);
  const signedAt = textOf(headers[SIGNED_AT]);
  if (!(Math.abs(nowMs - Number(signedAt)) < LEEWAY_MS)) return 'forged';
  const key = identity.keyFrom(owner, textOf(headers[`${KEYS}-${identity.party}`]));
  const fields = eventFields(owner, identity.party, exchange, signedAt);
  const signature = { [SIGNATURE]: headers[`${SIGNATURE}-${identity.party}`] };
  return isSigned(key, fields, content, signature) ? null : 'forged';
}

/** Where an app gets its answers: an exchange, and queues whose names begin with its name. */
export const replyExchangeOf = (party: PartyName): string => `replies.${party}`;

function isReplyQueueOf(party: PartyName, queue: string): boolean {
  return queue.startsWith(`${replyExchangeOf(party)}.`);
}

function isSigned(
  key: PairKey | undefined,
  fields: readonly string[],
  content: Buffer,
  headers: Readonly<Record<string, unknown>>,
): boolean {
  return key !== undefined && key.isSigned(fields, content, textOf(headers[SIGNATURE]));
}

function questionFields(
  asker: PartyName,
  owner: PartyName,
  { contractName, replyTo, id, expiresAtMs }: QuestionHead,
): readonly string[] {
  return ['question', asker, owner, contractName, replyTo, id, String(expiresAtMs)];
}

function answerFields(owner: PartyName, asker: PartyName, { contractName, id }: AnswerHead): readonly string[] {
  return ['answer', owner, asker, contractName, id];
}

function eventFields(owner: PartyName, follower: PartyName, exchange: string, signedAt: string): readonly string[] {
  return ['event', owner, follower, exchange, signedAt];
}

function headersOf({ headers }: MessageProperties): Readonly<Record<string, unknown>> {
  return headers ?? {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
