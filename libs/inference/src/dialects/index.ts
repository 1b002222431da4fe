import { AppError } from '@libs/errors';
import type { Api } from '../catalogue/catalogue';
import type { Dialect } from './dialect';
import { anthropicMessages } from './anthropic-messages';
import { openAiChat } from './openai-chat';
import { openAiEmbeddings } from './openai-embeddings/dialect';
import { openAiResponses } from './openai-responses';

/** The dialect of each API that callers may use. */
const DIALECTS: readonly Dialect[] = [openAiChat, openAiEmbeddings, openAiResponses, anthropicMessages];

const byApi: ReadonlyMap<Api, Dialect> = new Map(DIALECTS.map((dialect) => [dialect.api, dialect]));

/** Returns the dialect of an API. @throws AppError server if the API has none */
export function dialectOf(api: Api): Dialect {
  const dialect = byApi.get(api);
  if (dialect) return dialect;
  throw new AppError('server', 'Internal error', { internal: `no dialect for ${api}` });
}
