import { hash } from 'node:crypto';
import type { AnswerPart, ServerToolPart, TokenLogprob } from '../../model/canonical-answer';
import type { ReasoningPart, TextPart } from '../../model/conversation';
import { reasoningItem, writeAnnotation } from './conversation-writer';
import { isResponsesFormat } from './reasoning';
import { textOfArguments } from '../free-text-tools';
import { seal } from '../sealed-thoughts';
import type { ToolNames, ToolPlace } from './tool-names';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

type ItemKind = 'msg' | 'rs' | 'fc' | 'ctc' | 'ig' | 'ws' | 'st';

const ID_LENGTH = 48;

/** Returns the id of an output item: always the same for the same position of the same response. */
export function itemId(kind: ItemKind, responseId: string, outputIndex: number): string {
  const digest = hash('sha256', `${responseId}/${outputIndex}`);
  return `${kind}_${digest.slice(0, ID_LENGTH)}`;
}

/** Facts about the response that its items need. */
export interface ItemContext {
  readonly responseId: string;
  readonly toolNames: ToolNames;
  /** The caller asks for encrypted thoughts, to send them back. */
  readonly wantsSeals: boolean;
}

/**
 * Returns the parts of a whole answer as output items. Consecutive texts and refusals form one message. `lastStatus` is
 * the status of the last item; all items before it are complete.
 */
export function writeItems(
  parts: readonly AnswerPart[],
  logprobs: readonly TokenLogprob[],
  lastStatus: ItemStatus,
  context: ItemContext,
): object[] {
  const groups = groupParts(parts);
  const firstText = groups.findIndex((group) => group.some(({ type }) => type === 'text'));
  return groups.map((group, index) => {
    const status = index === groups.length - 1 ? lastStatus : 'completed';
    return writeGroup(group, index === firstText ? logprobs : [], index, status, context);
  });
}

function groupParts(parts: readonly AnswerPart[]): readonly (readonly [AnswerPart, ...AnswerPart[]])[] {
  const groups: [AnswerPart, ...AnswerPart[]][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last !== undefined && isSpoken(last[0]) && isSpoken(part)) last.push(part);
    else groups.push([part]);
  }
  return groups;
}

function isSpoken({ type }: AnswerPart): boolean {
  return type === 'text' || type === 'refusal';
}

function writeGroup(
  group: readonly [AnswerPart, ...AnswerPart[]],
  logprobs: readonly TokenLogprob[],
  index: number,
  status: ItemStatus,
  { responseId, toolNames, wantsSeals }: ItemContext,
): object {
  const [part] = group;
  if (part.type === 'reasoning') {
    return thoughtItem(wantsSeals ? sealedThought(part) : part, itemId('rs', responseId, index), status);
  }
  if (part.type === 'generated-image') return imageItem(itemId('ig', responseId, index), part.url);
  if (part.type === 'server-tool') {
    return serverToolItem(serverToolItemId(part.tool, responseId, index), part, statusOfTool(part.hasSucceeded));
  }
  if (part.type === 'tool-call') {
    const called = calledTool(part, toolNames);
    if (called.isCustom) return customCallItem(itemId('ctc', responseId, index), called, part.arguments, status);
    return functionCallItem(itemId('fc', responseId, index), called, part.arguments, status);
  }
  const firstText = group.findIndex(({ type }) => type === 'text');
  const content = group.map((spoken, at) => writeSpoken(spoken, at === firstText ? logprobs : []));
  return messageItem(itemId('msg', responseId, index), content, status);
}

function writeSpoken(part: AnswerPart, logprobs: readonly TokenLogprob[]): object {
  if (part.type === 'refusal') return refusalContent(part.text);
  const { text, annotations = [] } = part as TextPart;
  return textContent(text, annotations.map(writeAnnotation), logprobs);
}

export function textContent(text: string, annotations: readonly object[], logprobs: readonly TokenLogprob[]): object {
  return { type: 'output_text', text, annotations, logprobs: logprobs.map(writeLogprob) };
}

export function refusalContent(refusal: string): object {
  return { type: 'refusal', refusal };
}

export function messageItem(id: string, content: readonly object[], status: ItemStatus): object {
  return { id, type: 'message', status, role: 'assistant', content };
}

export function thoughtItem(part: ReasoningPart, id: string, status: ItemStatus): object {
  return { ...reasoningItem({ ...part, id: part.id ?? id }), status };
}

/**
 * Returns a thought of a model behind another API with all of it in `encrypted`: the only proof of a thought that OpenAI's
 * clients send back.
 */
export function sealedThought(part: ReasoningPart): ReasoningPart {
  const { text, summary, signature, encrypted, id, format } = part;
  const hasProof = signature !== undefined || encrypted !== undefined;
  if (!hasProof || format === undefined || isResponsesFormat(format)) return part;
  return { ...part, encrypted: seal({ text, summary, signature, encrypted, id, format }) };
}

export function serverToolItemId(tool: string, responseId: string, outputIndex: number): string {
  const kinds: Readonly<Record<string, ItemKind>> = { web_search: 'ws', image_generation: 'ig' };
  return itemId(kinds[tool] ?? 'st', responseId, outputIndex);
}

/** Returns the status of a tool call that the gateway ran; a failed one is `incomplete`. */
export function statusOfTool(hasSucceeded: boolean): ItemStatus {
  return hasSucceeded ? 'completed' : 'incomplete';
}

export function serverToolItem(
  id: string,
  { itemType, item }: Pick<ServerToolPart, 'itemType' | 'item'>,
  status: ItemStatus,
): object {
  return { id, type: itemType, status, ...item };
}

/** A tool that the model called, under the names that the request has for it. */
export interface CalledTool extends ToolPlace {
  readonly callId: string;
}

/** Returns the called tool. `name` is the name that was sent to the model. */
export function calledTool({ id, name }: { readonly id: string; readonly name: string }, names: ToolNames): CalledTool {
  return { callId: id, ...(names.placeOf(name) ?? { name, isCustom: false }) };
}

export function functionCallItem(id: string, called: CalledTool, args: string, status: ItemStatus): object {
  return { id, type: 'function_call', ...callMembers(called), arguments: args, status };
}

export function customCallItem(id: string, called: CalledTool, args: string, status: ItemStatus): object {
  return { id, type: 'custom_tool_call', ...callMembers(called), input: textOfArguments(args), status };
}

function callMembers({ callId, name, namespace }: CalledTool): object {
  return { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
}

/** Returns a picture as bare base64, or as its link if only that is known. */
export function imageItem(id: string, url: string): object {
  return {
    id,
    type: 'image_generation_call',
    status: 'completed',
    result: url.replace(/^data:[^,]{0,200};base64,/, ''),
  };
}

export function writeLogprob({ token, bytes, logprob, top }: TokenLogprob): object {
  const one = (entry: Omit<TokenLogprob, 'top'>): object => ({
    token: entry.token,
    bytes: entry.bytes ?? [...Buffer.from(entry.token)],
    logprob: entry.logprob,
  });
  return { ...one({ token, bytes, logprob }), top_logprobs: top.map(one) };
}
