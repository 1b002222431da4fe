import { IsOptional } from 'class-validator';
import { CidrList, Int, Text } from './env-decorators';
import { ServicesEnv } from './services.env';

/** The variables of every app that calls providers. */
export class ProviderCallerEnv extends ServicesEnv {
  /** A YAML file or a folder of YAML files. */
  @Text({ expected: 'a path to a file or folder' })
  CATALOG_PATH: string = 'catalog/';

  /** Fee for calls with callers' own keys, in per cent of the list price. */
  @Text({ expected: 'a number of per cent such as 5 or 2.5', pattern: /^(?:100(?:\.0{1,4})?|[1-9]?\d(?:\.\d{1,4})?)$/ })
  BYOK_FEE_PERCENT: string = '5';

  /** Amount, by list price, that each organization may use with its own keys per calendar month without that fee. */
  @Text({ expected: 'an amount in US dollars such as 25 or 0.5', pattern: /^(?:0|[1-9]\d{0,11})(?:\.\d{1,12})?$/ })
  BYOK_FREE_USD_PER_MONTH: string = '0';

  /**
   * How long known keys stay valid while the app that owns them is unavailable. A revocation cannot arrive in that
   * time; 0 accepts no key that was not confirmed within the last second.
   */
  @Int({ min: 0, max: 86_400 })
  KEY_GRACE_SECONDS: number = 60;

  /** Private ranges that URLs of users, links of providers and hosts of users' own provider keys may reach. */
  @IsOptional()
  @CidrList()
  EGRESS_ALLOW_CIDRS?: string[];
}
