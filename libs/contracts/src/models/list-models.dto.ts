import { IsIn, IsString, Matches, MaxLength } from 'class-validator';
import { MayBeAbsent } from '../organizations/member-rules';

/** Orders of a list of models. Of popularity and benchmarks nothing is known: these orders keep that of the catalogue. */
export const MODEL_ORDERS = [
  'newest',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'most-popular',
  'top-weekly',
  'throughput-high-to-low',
  'latency-low-to-high',
  'intelligence-high-to-low',
  'coding-high-to-low',
  'agentic-high-to-low',
  'design-arena-elo-high-to-low',
] as const;
export type ModelOrder = (typeof MODEL_ORDERS)[number];

const COUNT = /^\d{1,9}$/;
const AMOUNT = /^\d{1,9}(?:\.\d{1,12})?$/;

function IsQueryText(): PropertyDecorator {
  return (target, member) => {
    for (const rule of [MayBeAbsent(), IsString(), MaxLength(500)]) rule(target, member);
  };
}

function IsQueryNumber(pattern: RegExp, example: string): PropertyDecorator {
  return (target, member) => {
    const message = `${String(member)} must be a number such as ${example}`;
    for (const rule of [MayBeAbsent(), Matches(pattern, { message })]) rule(target, member);
  };
}

/** What every list of models may be asked for. */
export class BatchEntriesQueryDto {
  /** The entries `<id>:batch`, with the prices of batches, in place of the others. */
  @MayBeAbsent()
  @IsIn(['true'])
  batch?: 'true';
}

/** What `GET /models` may be asked for. Lists are separated by commas; prices are dollars per million tokens. */
export class ListModelsQueryDto extends BatchEntriesQueryDto {
  /** Words that the id, name or description has, each of them. */
  @IsQueryText()
  q?: string;

  /** All of them. */
  @IsQueryText()
  supported_parameters?: string;

  /** All of them. */
  @IsQueryText()
  input_modalities?: string;

  /** One of them, or `all`. */
  @IsQueryText()
  output_modalities?: string;

  /** One of these tokenizers. */
  @IsQueryText()
  arch?: string;

  /** Any of these authors: the part of the id before the slash. */
  @IsQueryText()
  model_authors?: string;

  /** Slugs or names of providers, one of them with an endpoint for the model. */
  @IsQueryText()
  providers?: string;

  /** The least context length, in tokens. */
  @IsQueryNumber(COUNT, '32000')
  context?: string;

  @IsQueryNumber(AMOUNT, '0.5')
  min_price?: string;

  @IsQueryNumber(AMOUNT, '0.5')
  max_price?: string;

  @IsQueryNumber(AMOUNT, '0.5')
  min_output_price?: string;

  @IsQueryNumber(AMOUNT, '0.5')
  max_output_price?: string;

  @IsQueryNumber(COUNT, '30')
  min_age_days?: string;

  @IsQueryNumber(COUNT, '30')
  max_age_days?: string;

  /** Models with an endpoint that keeps nothing. */
  @MayBeAbsent()
  @IsIn(['true'])
  zdr?: 'true';

  /** Models with an endpoint there. */
  @MayBeAbsent()
  @IsIn(['eu', 'us'])
  region?: 'eu' | 'us';

  @MayBeAbsent()
  @IsIn(MODEL_ORDERS)
  sort?: ModelOrder;
}

/** The members of the query that say which models are wanted, and in which order. */
export const MODEL_WISHES: readonly (keyof ListModelsQueryDto)[] = [
  'batch',
  'q',
  'supported_parameters',
  'input_modalities',
  'output_modalities',
  'arch',
  'model_authors',
  'providers',
  'context',
  'min_price',
  'max_price',
  'min_output_price',
  'max_output_price',
  'min_age_days',
  'max_age_days',
  'zdr',
  'region',
  'sort',
];
