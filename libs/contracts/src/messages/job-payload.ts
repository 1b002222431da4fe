import { IsOptional, IsString, Length } from 'class-validator';

/** Fields that every job may have in addition to the ids of its rows. */
export class JobPayload {
  /** `traceparent` of the span that caused the job (W3C Trace Context); absent without tracing. */
  @IsOptional()
  @IsString()
  @Length(55, 55)
  traceparent?: string;
}
