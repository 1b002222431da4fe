import { hash } from 'node:crypto';
import { nextId } from '../http/ids';
import { exampleOf } from './schema-example';
import { cutToTokens, tokensOf } from './tokens';

export interface ToolSpec {
  readonly name: string;
  /** JSON Schema of the arguments; undefined for a tool without arguments. */
  readonly parameters: unknown;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export type AnswerFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'json_object' }
  | { readonly kind: 'json_schema'; readonly schema: unknown };

/** The parts of a request that all three dialects have. */
export interface AnswerRequest {
  /** Text of the last user message; empty if there is none. */
  readonly lastUserText: string;
  /** Text of the tool result when the conversation ends with one. */
  readonly toolResult: string | null;
  readonly promptTokens: number;
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly allowsParallelTools: boolean;
  readonly maximumTokens: number | null;
  readonly stops: readonly string[];
  readonly format: AnswerFormat;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly input: unknown;
}

export interface Answer {
  /** The empty string when the answer is tool calls. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls';
  /** The stop string that ended the text. */
  readonly stoppedBy: string | null;
  readonly outputTokens: number;
}

const SHORT_FORM_LENGTH = 80;
const FILLER = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor'.split(' ');

/** Returns the first 12 hex characters of the SHA-256 of the last user message; they name the request of an answer. */
export function promptHash(lastUserText: string): string {
  return hash('sha256', lastUserText, 'hex').slice(0, 12);
}

/** Returns the text of every answer: where it comes from, whose request it answers, and the beginning of the prompt. */
export function answerText(request: AnswerRequest, promptId: string, words: number, ordinal = 0): string {
  const which = ordinal === 0 ? '' : ` (answer ${ordinal + 1})`;
  const echo =
    request.toolResult === null
      ? `You wrote: ${shortForm(request.lastUserText)}`
      : `The tool answered: ${shortForm(request.toolResult)}`;
  const text = `[sandbox] #${promptId}${which} ${echo}`;
  return words === 0 ? text : lengthen(text, words);
}

/** Answers a request. `ordinal` distinguishes the choices of one call. */
export function composeAnswer(request: AnswerRequest, promptId: string, words: number, ordinal = 0): Answer {
  const chosen = chooseTools(request);
  if (chosen.length > 0) return toolAnswer(chosen, request, promptId);
  const text = answerText(request, promptId, words, ordinal);
  return cutAnswer(request.format.kind === 'text' ? text : jsonText(request.format, text, promptId), request);
}

function cutAnswer(text: string, request: AnswerRequest): Answer {
  let stoppedBy: string | null = null;
  let end = text.length;
  for (const stop of request.stops) {
    const at = text.indexOf(stop);
    if (at < 0 || at >= end) continue;
    end = at;
    stoppedBy = stop;
  }
  const stopped = text.slice(0, end);
  const cut = request.maximumTokens === null ? stopped : cutToTokens(stopped, request.maximumTokens);
  const isCut = cut.length < stopped.length;
  return {
    text: cut,
    toolCalls: [],
    finish: isCut ? 'length' : 'stop',
    stoppedBy: isCut ? null : stoppedBy,
    outputTokens: tokensOf(cut),
  };
}

/**
 * Returns the tools to call: those that the last user message names; if a call is required and none is named, the
 * first. A conversation that ends with a tool result is answered in words, so that a tool loop ends.
 */
function chooseTools(request: AnswerRequest): readonly ToolSpec[] {
  const { tools, toolChoice } = request;
  if (tools.length === 0 || toolChoice === 'none') return [];
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.name === toolChoice.name).slice(0, 1);
  const named = request.toolResult === null ? tools.filter((tool) => mentions(request.lastUserText, tool.name)) : [];
  const chosen = named.length === 0 && toolChoice === 'required' ? tools.slice(0, 1) : named;
  return request.allowsParallelTools ? chosen : chosen.slice(0, 1);
}

function mentions(text: string, name: string): boolean {
  const haystack = text.toLowerCase();
  const needle = name.toLowerCase();
  const isWordCharacter = (character: string | undefined): boolean =>
    character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  for (let at = haystack.indexOf(needle); at >= 0; at = haystack.indexOf(needle, at + 1)) {
    if (!isWordCharacter(haystack[at - 1]) && !isWordCharacter(haystack[at + needle.length])) return true;
  }
  return false;
}

function toolAnswer(chosen: readonly ToolSpec[], request: AnswerRequest, promptId: string): Answer {
  const filler = `[sandbox] #${promptId} ${shortForm(request.lastUserText)}`;
  const toolCalls = chosen.map((tool): ToolCall => {
    const input = tool.parameters === undefined ? {} : exampleOf(tool.parameters, filler);
    return { id: nextId('call_'), name: tool.name, arguments: JSON.stringify(input), input };
  });
  const outputTokens = toolCalls.reduce((sum, call) => sum + tokensOf(call.name + call.arguments), 0);
  return { text: '', toolCalls, finish: 'tool_calls', stoppedBy: null, outputTokens };
}

function jsonText(format: AnswerFormat, text: string, promptId: string): string {
  if (format.kind === 'json_schema') return JSON.stringify(exampleOf(format.schema, text));
  return JSON.stringify({ sandbox: true, answer: text, prompt_sha256: promptId });
}

function shortForm(text: string): string {
  const start = text.length > 1_000 ? text.slice(0, 1_000) : text;
  const line = start.replace(/\s+/g, ' ').trim();
  if (line.length <= SHORT_FORM_LENGTH) return line;
  return `${line
    .slice(0, SHORT_FORM_LENGTH)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}…`;
}

function lengthen(text: string, words: number): string {
  const parts = text.split(' ');
  for (let index = parts.length; index < words; index += 1) parts.push(FILLER[index % FILLER.length] ?? '');
  return parts.join(' ');
}
