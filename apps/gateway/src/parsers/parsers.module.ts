import { Module } from '@nestjs/common';
import { HtmlReader } from './html-reader';
import { ParserPool } from './parser-pool';
import { PdfMeter } from './pdf-meter';
import { PdfReader } from './pdf-reader';

/** The readers of files that callers send or link to, which run in separate processes. */
@Module({
  providers: [
    { provide: ParserPool, useFactory: () => new ParserPool() },
    { provide: PdfReader, inject: [ParserPool], useFactory: (parsers: ParserPool) => new PdfReader(parsers) },
    { provide: PdfMeter, inject: [PdfReader], useFactory: (pdf: PdfReader) => new PdfMeter(pdf) },
    { provide: HtmlReader, inject: [ParserPool], useFactory: (parsers: ParserPool) => new HtmlReader(parsers) },
  ],
  exports: [ParserPool, PdfReader, PdfMeter, HtmlReader],
})
export class ParsersModule {}
