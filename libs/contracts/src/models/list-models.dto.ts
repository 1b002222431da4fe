import { IsIn, IsString, Matches, MaxLength } from 'class-validator';
import { MayBeAbsent } from '../organizations/member-rules';

/**
 * Sort orders of a list of models. Popularity and benchmarks are unknown: these orders keep the order of the catalogue.
 */
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

/** Query parameters of every list of models. */
export class BatchEntriesQueryDto {
  /** True: the entries `<id>:batch` with batch prices, instead of the others. */
  @MayBeAbsent()
  @IsIn(['true'])
  batch?: 'true';
}

/** Query parameters of `GET /models`. Lists are comma-separated; prices are dollars per million tokens. */
export class ListModelsQueryDto extends BatchEntriesQueryDto {
  /** Words that must all occur in the id, name or description. */
  @IsQueryText()
  q?: string;

  /** All of them. */
  @IsQueryText()
  supported_parameters?: string;

  /** All of them. */
  @IsQueryText()
  input_modalities?: string;

  /** One of the output types, or `all`. */
  @IsQueryText()
  output_modalities?: string;

  /** One of these tokenizers. */
  @IsQueryText()
  arch?: string;

  /** Any of these authors: the part of the id before the slash. */
  @IsQueryText()
  model_authors?: string;

  /** Slugs or names of providers; one of them must have an endpoint for the model. */
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

/** The query parameters that filter or sort models. */
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
