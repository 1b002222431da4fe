import type { ReasoningFormat } from '../../model/conversation';
import { NOVA_2 } from '../../model/dropped-cap';
import type { Endpoint } from '../../catalogue/catalogue-entries';

/**
 * The company that made a model. It decides which fields the model accepts besides those that all Bedrock models have.
 */
export interface ModelFamily {
  readonly name: 'anthropic' | 'nova' | 'nova-2' | 'gpt' | 'gpt-oss' | 'other';
  /** Format of the signed thoughts that the model takes back; null if it takes none. */
  readonly reasoningFormat: ReasoningFormat | null;
  /** Where cache marks are allowed; Bedrock refuses a request with a mark elsewhere. */
  readonly cachePoints: 'everywhere' | 'in-messages' | 'nowhere';
  /** Answers can be held to a JSON Schema. */
  readonly takesSchema: boolean;
  /** A result of a tool may say that the tool failed. */
  readonly takesToolStatus: boolean;
}

const OTHER: ModelFamily = {
  name: 'other',
  reasoningFormat: null,
  cachePoints: 'nowhere',
  takesSchema: true,
  takesToolStatus: false,
};

const NOVA: ModelFamily = {
  name: 'nova',
  reasoningFormat: null,
  cachePoints: 'in-messages',
  takesSchema: false,
  takesToolStatus: true,
};

/** Families by the start of a model id, after its region or the path of its ARN. */
const FAMILIES: readonly (readonly [id: RegExp, family: ModelFamily])[] = [
  [
    /(?:^|[./])anthropic\./,
    {
      name: 'anthropic',
      reasoningFormat: 'anthropic-claude-v1',
      cachePoints: 'everywhere',
      takesSchema: true,
      takesToolStatus: true,
    },
  ],
  [NOVA_2, { ...NOVA, name: 'nova-2' }],
  [/(?:^|[./])amazon\.nova-/, NOVA],
  [/(?:^|[./])openai\.gpt-oss-/, { ...OTHER, name: 'gpt-oss' }],
  [/(?:^|[./])openai\./, { ...OTHER, name: 'gpt', reasoningFormat: 'bedrock-openai-responses-v1' }],
  [/(?:^|[./])xai\./, { ...OTHER, reasoningFormat: 'bedrock-xai-responses-v1' }],
  [/(?:^|[./])meta\./, { ...OTHER, takesSchema: false }],
];

export function familyOf({ upstreamModel }: Pick<Endpoint, 'upstreamModel'>): ModelFamily {
  return FAMILIES.find(([id]) => id.test(upstreamModel))?.[1] ?? OTHER;
}
