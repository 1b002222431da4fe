import { sentValue } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { APIS, type StreamableApi } from '@libs/inference';
import { findValue } from '@libs/json';
import { fieldsOf, listOf, refusal, type Fields } from '../server-tools/named-tools';
import { SettingsReader } from '../server-tools/web-settings';
import { judgeMessages, readVerdicts, type RuleVerdict } from './alignment-verdicts';
import type { AskModel, BoundPlugin, Plugin, PluginContext, Review, ReviewedCall } from './plugin';
import type { RequestBody } from './request-body';

const STAGE = { type: 'guardrail', name: 'alignment' } as const;
const JUDGED_APIS: ReadonlySet<StreamableApi> = new Set(['chat', 'responses']);
const MOST_RULES = 128;
const LONGEST_RULE = 200;
const DEFAULT_THRESHOLD = 0.7;
const DEFAULT_RETRIES = 1;
const MOST_RETRIES = 3;
const MODES = ['enforce', 'audit'] as const;
/** Most characters of the answer as JSON, and of the question. Longer ones are not judged, not even in part. */
const MOST_JUDGED_CHARACTERS = 256 * 1024;
/** Output tokens for the judge's thoughts; below, for its verdict on one rule. */
const THOUGHT_TOKENS = 2_048;
const RULE_TOKENS = 32;

interface Settings {
  readonly rules: readonly string[];
  readonly threshold: number;
  readonly isEnforced: boolean;
  readonly isInstructed: boolean;
  /** How many further answers may be asked for, each in place of a blocked one. */
  readonly retries: number;
}

/** The judgement of one answer in the form that the caller sees. */
interface JudgedCall {
  /** Number of the answer, from 1. */
  readonly call: number;
  readonly outcome: 'allowed' | 'blocked' | 'unavailable';
  readonly rules: readonly RuleVerdict[];
  /** Why there is no verdict. */
  readonly reason?: string;
}

/**
 * Asks a model to judge whether a whole answer follows the caller's rules. An answer that breaks one is asked for again,
 * and in the end refused with 403.
 */
export class AlignmentPlugin implements Plugin {
  readonly id = 'alignment';

  /** @param judge model that judges; null if none is configured */
  constructor(private readonly judge: string | null) {}

  bind(fields: Fields, path: string): BoundPlugin {
    const { judge } = this;
    if (judge === null) throw refusal(`${path}.id`, 'asks for alignment, for which no model is configured here');
    const settings = readSettings(fields, path);
    const calls: JudgedCall[] = [];
    return {
      stage: STAGE,
      check: (api, { stream }) => {
        if (!JUDGED_APIS.has(api)) throw refusal(`${path}.id`, 'is for chat completions and responses only');
        if (stream === true) throw refusal(`${path}.id`, 'judges whole answers: ask without stream');
      },
      prepare: (body) => {
        // Refused before a model is called, because its answer would have to be paid but could not be shown.
        if (settings.isEnforced && body.lastUserText.length > MOST_JUDGED_CHARACTERS) {
          throw refusal(`${path}.id`, `judges questions of at most ${MOST_JUDGED_CHARACTERS} characters`);
        }
        return Promise.resolve(settings.isInstructed ? instructed(body, settings.rules) : null);
      },
      review: async (reviewed, context) => {
        const judgement = await judgementOf(judge, settings, reviewed, context);
        if (judgement === null) return null;
        calls.push({ call: calls.length + 1, ...judgement });
        return reviewOf([...calls], settings);
      },
    };
  }
}

function readSettings(fields: Fields, path: string): Settings {
  const reader = new SettingsReader(fields, path);
  const { threshold, instruct } = fields;
  if (threshold !== undefined && !(typeof threshold === 'number' && threshold > 0 && threshold <= 1)) {
    throw refusedValue(`${path}.threshold`, 'must be a number above 0, at most 1', threshold);
  }
  if (instruct !== undefined && typeof instruct !== 'boolean') {
    throw refusedValue(`${path}.instruct`, 'must be true or false', instruct);
  }
  return {
    rules: readRules(fields['rules'], `${path}.rules`),
    threshold: threshold ?? DEFAULT_THRESHOLD,
    isEnforced: reader.oneOf('mode', MODES) !== 'audit',
    isInstructed: instruct ?? true,
    retries: reader.int('max_retries', { min: 0, max: MOST_RETRIES }) ?? DEFAULT_RETRIES,
  };
}

function readRules(rules: unknown, path: string): readonly string[] {
  if (!Array.isArray(rules) || rules.length === 0 || rules.length > MOST_RULES) {
    throw refusedValue(path, `must be an array of 1 to ${MOST_RULES} rules`, rules);
  }
  return rules.map((rule: unknown, index) => {
    if (typeof rule === 'string' && rule !== '' && rule.length <= LONGEST_RULE) return rule;
    throw refusedValue(`${path}[${index}]`, `must be a text of 1 to ${LONGEST_RULE} characters`, rule);
  });
}

function refusedValue(path: string, reason: string, value: unknown): AppError {
  return refusal(path, reason + sentValue(path, value));
}

function instructed(body: RequestBody, rules: readonly string[]) {
  const content = ['Your answer must keep these rules:', ...rules.map((rule) => `- ${rule}`)].join('\n');
  const stage = { ...STAGE, summary: `rules=${rules.length}` };
  return { body: body.withTurns([{ role: 'system', content }, ...body.turns]), stage };
}

/** Returns null after the caller has disconnected. */
async function judgementOf(
  judge: string,
  { rules, threshold }: Settings,
  { answer, request, ask }: ReviewedCall,
  { api, signal }: PluginContext,
): Promise<Omit<JudgedCall, 'call'> | null> {
  const unavailable = (reason: string) => ({ outcome: 'unavailable', rules: [], reason }) as const;
  const said = findValue(answer, [APIS[api].answer.member])?.toString() ?? '[]';
  const question = request.lastUserText;
  if (said.length + question.length > MOST_JUDGED_CHARACTERS) {
    return unavailable('the answer and its question are too long');
  }
  try {
    const messages = judgeMessages({ rules, question, answer: said });
    const verdicts = readVerdicts(await saidBy(ask, judge, messages, rules.length), rules.length, threshold);
    if (verdicts === null) return unavailable('the model that judges gave no verdict');
    return { outcome: verdicts.some(({ broken }) => broken) ? 'blocked' : 'allowed', rules: verdicts };
  } catch (thrown) {
    // The provider has answered and must be paid: an error must not end the call before that is recorded.
    return signal.aborted ? null : unavailable(AppError.from(thrown).message);
  }
}

async function saidBy(ask: AskModel, model: string, messages: readonly object[], rules: number): Promise<unknown> {
  const answer = await ask({ model, messages, maxTokens: THOUGHT_TOKENS + rules * RULE_TOKENS });
  const { choices } = fieldsOf(JSON.parse(answer.toString()));
  return fieldsOf(listOf(choices)[0]?.['message'])['content'];
}

/** Returns what is to be done with the last of the judged answers. */
function reviewOf(calls: readonly JudgedCall[], { isEnforced, retries }: Settings): Review {
  const { outcome } = calls.at(-1)!;
  const stage = { ...STAGE, summary: `outcome=${outcome}` };
  const review = { stage, shown: { alignment: { calls } } };
  if (!isEnforced || outcome === 'allowed') return review;
  const isBlocked = outcome === 'blocked';
  const rejected = calls.filter((one) => one.outcome === 'blocked').map(({ call }) => call);
  const metadata = { alignment: { calls, rejected } };
  const error = isBlocked
    ? new AppError('permission_denied', 'The answer breaks a rule of the plugin alignment', { metadata })
    : new AppError('unavailable', 'The answer could not be judged by the plugin alignment', { metadata });
  return { ...review, refusal: error, mayAskAgain: isBlocked && calls.length <= retries };
}
