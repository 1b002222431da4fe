import { pieces } from '../answers/tokens';
import { namedEvent } from '../http/reply';
import { outputText, type FunctionCallItem, type MessageItem, type ResponseObject } from './response-object';

type Push = (type: string, members: object) => void;

/** The events of a streamed response, numbered from 0, ended by `response.completed` or `response.incomplete`. */
export function responseStream(opened: ResponseObject, closed: ResponseObject): string[] {
  const events: string[] = [];
  const push: Push = (type, members) => {
    events.push(namedEvent({ type, sequence_number: events.length, ...members }));
  };
  push('response.created', { response: opened });
  push('response.in_progress', { response: opened });
  closed.output.forEach((item, index) => {
    if (item.type === 'message') pushMessage(item, index, push);
    else pushFunctionCall(item, index, push);
  });
  push(`response.${closed.status}`, { response: closed });
  return events;
}

/** Returns the event that ends a response in failure, after this many other events. */
export function failedEvent(opened: ResponseObject, after: number): string {
  const error = { code: 'server_error', message: '[sandbox] The model name asked for an error in mid-stream' };
  const response = { ...opened, status: 'failed', error };
  const event = { type: 'response.failed', sequence_number: after, response };
  return namedEvent(event);
}

function pushMessage(item: MessageItem, index: number, push: Push): void {
  const place = { item_id: item.id, output_index: index, content_index: 0 };
  const text = item.content[0]?.text ?? '';
  push('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress', content: [] } });
  push('response.content_part.added', { ...place, part: outputText('') });
  for (const delta of pieces(text)) push('response.output_text.delta', { ...place, delta, logprobs: [] });
  push('response.output_text.done', { ...place, text, logprobs: [] });
  push('response.content_part.done', { ...place, part: outputText(text) });
  push('response.output_item.done', { output_index: index, item });
}

function pushFunctionCall(item: FunctionCallItem, index: number, push: Push): void {
  const place = { item_id: item.id, output_index: index };
  const opening = { ...item, status: 'in_progress', arguments: '' };
  push('response.output_item.added', { output_index: index, item: opening });
  for (const delta of pieces(item.arguments)) push('response.function_call_arguments.delta', { ...place, delta });
  push('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
  push('response.output_item.done', { output_index: index, item });
}
