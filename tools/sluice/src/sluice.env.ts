import { Secret } from '@libs/contracts';
import { loadEnv, SecretText, ServicesEnv, Text } from '@libs/platform';
import { IsOptional } from 'class-validator';

const ADMIN_KEY = { expected: 'a key of printable characters without blanks', pattern: /^[!-~]{1,512}$/ };

/** The variables of the command line in addition to those of all apps. */
export class SluiceEnv extends ServicesEnv {
  /** A YAML file or a folder of YAML files. */
  @Text({ expected: 'a path to a file or folder' })
  CATALOG_PATH: string = 'catalog/';

  /** An administrator's key of OpenAI, for the reports of its charges. */
  @IsOptional()
  @SecretText(ADMIN_KEY)
  OPENAI_ADMIN_KEY?: Secret;

  /** An administrator's key of Anthropic, for the reports of its charges. */
  @IsOptional()
  @SecretText(ADMIN_KEY)
  ANTHROPIC_ADMIN_KEY?: Secret;
}

/** @throws EnvError */
export function readSluiceEnv(source: NodeJS.ProcessEnv = process.env): SluiceEnv {
  return loadEnv(SluiceEnv, source);
}
