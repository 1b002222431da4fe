/** Loaded by jest before each suite: when all specs of the suite are over, what they shared ends. */
import { endSharedInstallations } from './shared-installations';

afterAll(endSharedInstallations, 120_000);
