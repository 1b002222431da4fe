import { describeConformance } from './testing/conformance';

describeConformance('openai');
