import { pieces } from '../answers/tokens';
import { nextId, unixSeconds } from '../http/ids';
import { dataEvent } from '../http/reply';
import { chatUsage, SYSTEM_FINGERPRINT } from './chat-completion';
import { logprobsOf } from './chat-logprobs';
import type { Answer } from '../answers/answer';
import type { NamedModel } from '../behaviours/model-behaviour';
import type { ChatRequest } from './chat-request';

/**
 * Yields the events of a streamed completion: role, content word by word or tool calls, finish; then, if requested,
 * usage without choices; then `[DONE]`. Choices follow one another.
 *
 * The fields that do not change are serialized once, because benchmarks depend on the speed of this code.
 */
export function chatStream(request: ChatRequest, model: NamedModel, answers: readonly Answer[]): string[] {
  const head = JSON.stringify({
    id: nextId('chatcmpl-'),
    object: 'chat.completion.chunk',
    created: unixSeconds(),
    model: model.name,
    service_tier: 'default',
    system_fingerprint: SYSTEM_FINGERPRINT,
  }).slice(0, -1);
  const reportsUsage = request.includesUsage && !model.behaviour.omitsUsage;
  const tail = reportsUsage ? ',"usage":null}' : '}';
  const events: string[] = [];
  answers.forEach((answer, index) => {
    const start = `${head},"choices":[{"index":${index},"delta":`;
    const push = (delta: string, logprobs = 'null', finish = 'null'): void => {
      events.push(dataEvent(`${start}${delta},"logprobs":${logprobs},"finish_reason":${finish}}]${tail}`));
    };
    pushAnswer(answer, request.topLogprobs, push);
  });
  if (reportsUsage) {
    events.push(dataEvent(`${head},"choices":[],"usage":${JSON.stringify(chatUsage(request, model, answers))}}`));
  }
  events.push(dataEvent('[DONE]'));
  return events;
}

type Push = (delta: string, logprobs?: string, finish?: string) => void;

function pushAnswer(answer: Answer, topLogprobs: number | null, push: Push): void {
  if (answer.toolCalls.length === 0) {
    push('{"role":"assistant","content":"","refusal":null}');
    for (const piece of pieces(answer.text)) {
      const logprobs = topLogprobs === null ? undefined : JSON.stringify(logprobsOf(piece, topLogprobs));
      push(`{"content":${JSON.stringify(piece)}}`, logprobs);
    }
  } else {
    push('{"role":"assistant","content":null}');
    answer.toolCalls.forEach((call, index) => {
      const opening = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
      push(JSON.stringify({ tool_calls: [opening] }));
      for (const piece of pieces(call.arguments)) {
        push(JSON.stringify({ tool_calls: [{ index, function: { arguments: piece } }] }));
      }
    });
  }
  push('{}', undefined, `"${answer.finish}"`);
}
