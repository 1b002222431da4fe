import { Logger } from '@nestjs/common';

/** Silences the log of Nest. Returns the list to which the first words of each line of one level are added. */
export function captureLog(level: 'warn' | 'error'): string[] {
  const lines: string[] = [];
  const ignore = (): void => undefined;
  Logger.overrideLogger({ log: ignore, warn: ignore, error: ignore, [level]: (text: string) => void lines.push(text) });
  return lines;
}
