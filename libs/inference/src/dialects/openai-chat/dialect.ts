import { JsonCursor, MalformedJson, applyEdits, joinEdits, missingMembers } from '@libs/json';
import { brokenAnswer, errorInside, readComplaintAt } from '../../wire/upstream-error';
import type { UpstreamStream } from '../../wire/upstream-stream';
import type { AnswerStream } from '../../model/answer-stream';
import { ownMembers } from '../billing';
import { billAnswer } from '../answer-billing';
import { TextCounter } from '../../model/text-tokens';
import { ExecutedTools } from './executed-tools';
import { chatEdits, readChatObject, type ChatObject } from './relayed-answer';
import type { Answer, AnswerContext, Dialect } from '../dialect';
import { OpenAiChatStream } from './relayed-stream';
import { hidesThoughts } from './hidden-thoughts';
import { identifyingEdits } from './numbered-calls';
import { usageEdits, usageText } from '../openai-usage';
import { mostToolUnits, orNone, scannedToolUnits } from '../reported-tools';
import type { SeenOutput } from '../seen-output';
import { servedBy } from '../served-tier';
import { saidBeside } from '../usage-details';
import { toUpstream } from './relayed-request';
import { unixSeconds } from '../../model/unix-seconds';

/** Dialect of OpenAI's Chat Completions API for upstreams that have the same API. */
export const openAiChat: Dialect = { api: 'chat', toUpstream, readAnswer, openStream };

/** Fields that clients with strict validation require and that some upstreams omit. */
const REQUIRED = { object: '"chat.completion"', system_fingerprint: 'null' } as const;

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const ran = new ExecutedTools();
  const chat = readOrRefuse(body, context, ran);
  if (chat.error !== null) {
    throw errorInside(provider, readComplaintAt(new JsonCursor(body, chat.error.valueStart), 0));
  }
  if (!chat.choiceCount) throw brokenAnswer(provider, 'the answer has no choices');
  const served = servedBy(context, chat.serviceTier);
  const seen = new WholeOutput(chat);
  const { reported } = chat;
  const counted = reported === null ? {} : scannedToolUnits(reported.object);
  const units = orNone(mostToolUnits(ran.units, counted));
  const { usage, cost } = billAnswer(reported?.counts ?? null, seen, served, 'estimated', units);
  const set = { ...ownMembers(context), ...missingMembers(chat, { ...REQUIRED, created: String(unixSeconds()) }) };
  if (chat.usage === null) set['usage'] = usageText(usage, cost, true);
  const billed = chat.usage === null ? [] : usageEdits(chat.usage, usage, cost, true);
  const edits = chatEdits(chat, { set }, joinEdits(chat.hasCalls ? identifyingEdits(body) : [], billed));
  return {
    body: applyEdits(body, edits),
    usage,
    cost,
    ...saidBeside(chat.reported, chat.serviceTier),
    finishReason: chat.finishReason,
    nativeFinishReason: chat.nativeFinishReason,
    upstreamId: chat.id,
  };
}

/** Output of a whole answer. Its text is counted only on demand, because most providers report how long it is. */
class WholeOutput implements SeenOutput {
  readonly pictures: number;
  readonly audioBytes: number;
  private readonly bytes: Buffer;
  #text: TextCounter | null = null;

  constructor({ pictures, audioBytes, bytes }: ChatObject) {
    this.pictures = pictures;
    this.audioBytes = audioBytes;
    this.bytes = bytes;
  }

  get contentUnits(): number {
    if (this.#text === null) {
      this.#text = new TextCounter();
      readChatObject(this.bytes, { text: this.#text });
    }
    return this.#text.units;
  }
}

function readOrRefuse(body: Buffer, { endpoint, requestBody }: AnswerContext, ran: ExecutedTools): ChatObject {
  try {
    return readChatObject(body, { hidesThoughts: hidesThoughts(requestBody), ran });
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

function openStream(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream> {
  return OpenAiChatStream.open(upstream, context);
}
