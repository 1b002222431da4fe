import { Secret } from '@libs/contracts';
import { loadEnv, SecretText, ServicesEnv, Text } from '@libs/platform';
import { IsOptional } from 'class-validator';

const ADMIN_KEY = { expected: 'a key of printable characters without blanks', pattern: /^[!-~]{1,512}$/ };

/** What the command line reads in addition to the addresses of the services. */
export class SluiceEnv extends ServicesEnv {
  /** A YAML file or a folder of them. */
  @Text({ expected: 'a path to a file or folder' })
  CATALOG_PATH: string = 'catalog/';

  /** An administrator's key of OpenAI, for the reports of what it charged. */
  @IsOptional()
  @SecretText(ADMIN_KEY)
  OPENAI_ADMIN_KEY?: Secret;

  /** The same of Anthropic. */
  @IsOptional()
  @SecretText(ADMIN_KEY)
  ANTHROPIC_ADMIN_KEY?: Secret;
}

/** @throws EnvError */
export function readSluiceEnv(source: NodeJS.ProcessEnv = process.env): SluiceEnv {
  return loadEnv(SluiceEnv, source);
}
