import { Module } from '@nestjs/common';
import { AlertSecrets } from './alert-secrets.js';
import { AlertSender } from './alert-sender.js';
import { AlertStore } from './alert-store.js';
import { AlertSweep } from './alert-sweep.js';
import { AlertTest } from './alert-test.js';
import { AlertTransport } from './alert-transport.js';
import { AlertsController } from './alerts.controller.js';
import { DeleteAlertHandler, PutAlertHandler, TestAlertHandler } from './alerts.handlers.js';
import { AlertsReader } from './alerts.reader.js';
import { ConditionSurvey } from './condition-survey.js';
import { Mail } from './mail.js';

/** The alerts module, which informs people by mail or webhook about conditions that need their attention. */
@Module({
  controllers: [AlertsController],
  providers: [
    AlertsReader,
    AlertSecrets,
    AlertStore,
    AlertSweep,
    AlertSender,
    AlertTransport,
    AlertTest,
    ConditionSurvey,
    Mail,
    PutAlertHandler,
    DeleteAlertHandler,
    TestAlertHandler,
  ],
})
export class AlertsModule {}
