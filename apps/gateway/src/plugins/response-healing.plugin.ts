import type { PipelineStage } from '@libs/inference';
import type { ParserPool } from '../parsers/parser-pool';
import { fieldsOf } from '../server-tools/named-tools';
import type { AnswerBody } from './answer-body';
import type { BoundPlugin, Plugin, PluginContext } from './plugin';
import type { RequestBody } from './request-body';

const LONGEST_TEXT = 1_000_000;
const STAGE = { type: 'response_healing', name: 'response-healing' } as const;
const TIMEOUT_MS = 2_000;

/**
 * Repairs an answer that should be JSON but does not parse: code fences, trailing commas, missing brackets and quotes.
 * Valid JSON is not changed, nor is an answer that cannot be repaired into an object or array in time.
 */
export class ResponseHealingPlugin implements Plugin {
  readonly id = 'response-healing';

  constructor(private readonly parsers: ParserPool) {}

  bind(): BoundPlugin {
    return { stage: STAGE, finish: (answer, request, context) => this.#heal(answer, request, context) };
  }

  async #heal(answer: AnswerBody, request: RequestBody, context: PluginContext): Promise<PipelineStage | null> {
    if (!wantsJson(request)) return null;
    let healed = 0;
    for (const said of answer.texts) {
      const repaired = await this.#repair(said.text, context);
      if (repaired === null) continue;
      said.replace(repaired);
      healed += 1;
    }
    if (healed === 0) return null;
    return { ...STAGE, summary: `healed=${healed}`, data: { healed } };
  }

  /** Returns the repaired text; null if it needs no repair or cannot be repaired. */
  async #repair(text: string, context: PluginContext): Promise<string | null> {
    if (text.length > LONGEST_TEXT || parses(text)) return null;
    const bare = withoutFence(text);
    if (isStructure(bare)) return bare;
    const payload = Buffer.from(bare);
    const task = { parser: 'json-repair', settings: {}, payload, timeoutMs: TIMEOUT_MS } as const;
    const outcome = await this.parsers.run(task, context);
    const repaired = outcome.state === 'done' ? outcome.value : null;
    return typeof repaired === 'string' && isStructure(repaired) ? repaired : null;
  }
}

/** Returns whether the request asks for JSON, on any of the three APIs. */
function wantsJson({ parsed }: RequestBody): boolean {
  const { response_format: chat, text, output_format: older, output_config: config } = parsed;
  const formats = [chat, fieldsOf(text)['format'], older, fieldsOf(config)['format']];
  return formats.some((format) => {
    const { type } = fieldsOf(format);
    return typeof type === 'string' && type.startsWith('json');
  });
}

function isStructure(text: string): boolean {
  return /^\s*[[{]/.test(text) && parses(text);
}

/** Returns the text inside a Markdown fence. An answer that was cut has no closing line. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  const firstLine = trimmed.indexOf('\n');
  if (!trimmed.startsWith('```') || firstLine === -1) return trimmed;
  const inner = trimmed.slice(firstLine + 1);
  return (inner.endsWith('```') ? inner.slice(0, -'```'.length) : inner).trim();
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
