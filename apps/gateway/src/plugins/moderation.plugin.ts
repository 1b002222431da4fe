import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { fieldsOf, listOf, refusal, type Fields } from '../server-tools/named-tools';
import { callService } from '../server-tools/operator-service';
import type { BoundPlugin, Plugin, PluginContext, Preparation } from './plugin';
import type { RequestBody } from './request-body';

/** A service that speaks OpenAI's moderations API. */
export interface ModerationService {
  readonly url: string;
  readonly key: Secret | null;
  /** Sent to the service; null: the service uses its default model. */
  readonly model: string | null;
  /** True if the operator declares that the service stores nothing. */
  readonly keepsNothing: boolean;
}

const NAME = 'moderation service';
const STAGE = { type: 'guardrail', name: 'moderation' } as const;
/** Longest text in one request; longer texts are sent in pieces. */
const LONGEST_INPUT = 30_000;
const SHOWN_CHARACTERS = 100;

/** Sends the texts of a request to a moderation service before it is routed. A flagged request is refused with 403. */
export class ModerationPlugin implements Plugin {
  readonly id = 'moderation';

  constructor(private readonly service: ModerationService | null) {}

  bind(_settings: Fields, path: string): BoundPlugin {
    const { service } = this;
    if (service === null) throw refusal(`${path}.id`, 'asks for moderation, for which no service is configured here');
    const keeper = service.keepsNothing ? undefined : `The ${NAME}`;
    return { stage: STAGE, keeper, prepare: (body, context) => moderate(service, body, context) };
  }
}

async function moderate(
  service: ModerationService,
  body: RequestBody,
  context: PluginContext,
): Promise<Preparation | null> {
  const inputs = body.texts.flatMap(pieces);
  if (inputs.length === 0) return null;
  const answer = await callService(NAME, {
    url: new URL(service.url),
    headers: service.key === null ? {} : { authorization: `Bearer ${service.key.reveal()}` },
    body: { input: inputs, ...(service.model !== null && { model: service.model }) },
    work: context,
  });
  const verdicts = listOf(answer['results']);
  if (verdicts.length !== inputs.length || verdicts.some(({ flagged }) => typeof flagged !== 'boolean')) {
    // A request without a verdict is refused.
    throw new AppError('provider_unavailable', `The ${NAME} is not available`, { internal: `${NAME}: no verdict` });
  }
  const flagged = inputs.filter((_input, index) => verdicts[index]!['flagged'] === true);
  const stage = { ...STAGE, summary: `inputs=${inputs.length}, flagged=${flagged.length}` };
  const [first] = flagged;
  return first === undefined
    ? { body, stage }
    : { body, stage, refusal: flaggedInput(verdicts, first, context.modelSlug) };
}

function flaggedInput(verdicts: readonly Fields[], input: string, modelSlug: string): AppError {
  const categories = verdicts
    .filter((verdict) => verdict['flagged'] === true)
    .flatMap((verdict) => Object.entries(fieldsOf(verdict['categories'])))
    .filter(([, isSo]) => isSo === true)
    .map(([name]) => name);
  return new AppError('permission_denied', 'The input was flagged by moderation', {
    metadata: {
      reasons: [...new Set(categories)],
      flagged_input: middleCut(input),
      provider_name: NAME,
      model_slug: modelSlug,
    },
  });
}

function pieces(text: string): readonly string[] {
  const count = Math.ceil(text.length / LONGEST_INPUT);
  return Array.from({ length: count }, (_, index) => text.slice(index * LONGEST_INPUT, (index + 1) * LONGEST_INPUT));
}

function middleCut(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text;
  const side = (SHOWN_CHARACTERS - 3) / 2;
  return `${text.slice(0, Math.ceil(side))}...${text.slice(text.length - Math.floor(side))}`.toWellFormed();
}
