import { pieces } from '../answers/tokens';
import { namedEvent } from '../http/reply';
import type { ContentBlock, Message } from './message-answer';

type Push = (type: string, members?: object) => void;

/** The events of a streamed message, from `message_start` to `message_stop`. */
export function messageStream(message: Message): string[] {
  const events: string[] = [];
  const push: Push = (type, members = {}) => {
    events.push(namedEvent({ type, ...members }));
  };
  const opening = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const usage = message.usage && { ...message.usage, output_tokens: Math.min(1, message.usage.output_tokens) };
  push('message_start', { message: { ...opening, ...(usage && { usage }) } });
  message.content.forEach((block, index) => pushBlock(block, index, push));
  const delta = { stop_reason: message.stop_reason, stop_sequence: message.stop_sequence };
  const closing = message.usage && { usage: { output_tokens: message.usage.output_tokens } };
  push('message_delta', { delta, ...closing });
  push('message_stop');
  return events;
}

function pushBlock(block: ContentBlock, index: number, push: Push): void {
  const isText = block.type === 'text';
  push('content_block_start', { index, content_block: isText ? { ...block, text: '' } : { ...block, input: {} } });
  if (index === 0) push('ping');
  const source = isText ? block.text : JSON.stringify(block.input);
  for (const piece of pieces(source)) {
    const delta = isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece };
    push('content_block_delta', { index, delta });
  }
  push('content_block_stop', { index });
}
