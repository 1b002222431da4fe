import { tierNamed } from '../../catalogue/service-tiers';
import type { AnswerPart, CanonicalAnswer } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import type { AnswerContext } from '../dialect';
import type { Bill } from '../translation';
import { messageUsageObject } from './usage';
import { thinkingBlock } from './reasoning';
import { stopReasonOf, type Ending } from './stop-reason';
import { toCallId, toToolInput } from '../tool-input';

/** The answer as a message. A message is one answer: of several choices it is the first. */
export function writeAnswer(answer: CanonicalAnswer, bill: Bill, context: AnswerContext): object {
  const [choice] = answer.choices;
  const { content, ...rest } = emptyMessage(context);
  return {
    ...rest,
    content: [...content, ...(choice?.parts ?? []).flatMap(writePart)],
    ...endOf(
      choice ?? null,
      choice?.parts.some(({ type }) => type === 'tool-call'),
    ),
    usage: messageUsageObject(bill, wireTier(answer.serviceTier)),
  };
}

/** A message before its content. */
export function emptyMessage({ generationId, model, endpoint }: AnswerContext) {
  return {
    id: generationId,
    type: 'message',
    role: 'assistant',
    model: model.slug,
    provider: endpoint.provider.name,
    container: null,
    content: [] as object[],
  };
}

/** Returns the fields that say how a message ended; all null while it is running. */
export function endOf(ending: Ending | null, hasCalls = false): object {
  const stopReason = ending && stopReasonOf(ending, hasCalls);
  const isRefusal = stopReason === 'refusal';
  return {
    stop_reason: stopReason,
    stop_sequence: ending?.stopSequence ?? null,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: null } : null,
  };
}

/** Returns the service tier that served, as this API names it. */
export function wireTier(tier: string | undefined): string {
  return tier === undefined || tier === 'auto' || tierNamed(tier) === 'standard' ? 'standard' : tier;
}

function writePart(part: AnswerPart): readonly object[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, citations: part.annotations?.map(writeCitation) ?? null }];
    case 'refusal':
      return [{ type: 'text', text: part.text, citations: null }];
    case 'reasoning': {
      const block = thinkingBlock(part);
      return block === null ? [] : [block];
    }
    case 'tool-call':
      return [toolUse(part.id, part.name, toToolInput(part.arguments))];
    case 'generated-image':
    case 'server-tool':
      return [];
  }
}

export function toolUse(id: string, name: string, input: object): object {
  return { type: 'tool_use', id: toCallId(id), name, input, caller: { type: 'direct' } };
}

/**
 * Returns a web citation without `encrypted_index`, which the upstream needs to find the source again and which we do
 * not have.
 */
export function writeCitation({ url, title, content }: Annotation): object {
  return { type: 'web_search_result_location', url, title, cited_text: content ?? '', encrypted_index: '' };
}
