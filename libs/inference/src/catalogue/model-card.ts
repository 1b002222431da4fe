import type { Located } from './catalogue-document';
import * as kinds from './catalogue-kinds';

/** Details of a model that only lists show. Fields that the catalogue leaves out are null. */
export interface ModelCard {
  readonly huggingFaceId: string | null;
  /** Default values of request parameters, by parameter name. */
  readonly defaultParameters: Readonly<Record<string, number>> | null;
  readonly supportedVoices: readonly string[] | null;
  /** Whether the provider moderates what is asked. */
  readonly isModerated: boolean;
  readonly reasoning: ReasoningCard | null;
}

export interface ReasoningCard {
  /** Whether the model always thinks. */
  readonly mandatory: boolean;
  readonly default_enabled?: boolean;
  readonly default_effort?: string;
  readonly supported_efforts?: readonly string[];
  /** Whether thoughts can be bounded in tokens. */
  readonly supports_max_tokens?: boolean;
}

export const NO_CARD: ModelCard = {
  huggingFaceId: null,
  defaultParameters: null,
  supportedVoices: null,
  isModerated: false,
  reasoning: null,
};

const MEMBERS = ['hugging_face_id', 'default_parameters', 'supported_voices', 'is_moderated', 'reasoning'];
const PARAMETERS = ['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'];
const REASONING = ['mandatory', 'default_enabled', 'default_effort', 'supported_efforts', 'supports_max_tokens'];

const EFFORT = kinds.oneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** Reads the optional `listing` of a model. */
export function readModelCard(place: Located): ModelCard {
  const mapping = place.absent ? null : place.mapping(MEMBERS);
  if (mapping === null) return NO_CARD;
  return {
    huggingFaceId: mapping.member('hugging_face_id').scalar<string, null>(kinds.HUGGING_FACE_ID, null),
    defaultParameters: readDefaults(mapping.member('default_parameters')),
    supportedVoices: orNull(mapping.member('supported_voices').scalars(kinds.NAME, [])),
    isModerated: mapping.member('is_moderated').scalar(kinds.FLAG, false),
    reasoning: readReasoning(mapping.member('reasoning')),
  };
}

function readDefaults(place: Located): Readonly<Record<string, number>> | null {
  const mapping = place.absent ? null : place.mapping(PARAMETERS);
  if (mapping === null) return null;
  return Object.fromEntries(
    mapping.keys().map((name) => [name, mapping.member(name).scalar(name === 'top_k' ? kinds.COUNT : kinds.NUMBER)]),
  );
}

function readReasoning(place: Located): ReasoningCard | null {
  const mapping = place.absent ? null : place.mapping(REASONING);
  if (mapping === null) return null;
  const efforts = mapping.member('supported_efforts').scalars(EFFORT, []);
  const effort = mapping.member('default_effort').scalar<string, null>(EFFORT, null);
  const flag = (name: 'default_enabled' | 'supports_max_tokens'): object => {
    const value = mapping.member(name).scalar<boolean, null>(kinds.FLAG, null);
    return value === null ? {} : { [name]: value };
  };
  return {
    mandatory: mapping.member('mandatory').scalar(kinds.FLAG),
    ...flag('default_enabled'),
    ...(effort !== null && { default_effort: effort }),
    ...(efforts.length > 0 && { supported_efforts: efforts }),
    ...flag('supports_max_tokens'),
  };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}
