{{/* The labels of a part, which never change: [root, component] */}}
{{- define "eligibility.selector" -}}
app.kubernetes.io/name: eligibility
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels that a release may change, so no selector has them: [root, component] */}}
{{- define "eligibility.labels" -}}
{{ include "eligibility.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/part-of: eligibility
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version | replace "+" "_" }}
{{- end }}

{{/* By digest where there is one: a tag may lead to another image tomorrow. */}}
{{- define "eligibility.image" -}}
{{- with .Values.image.digest -}}
{{ $.Values.image.repository }}@{{ . }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Nothing runs as root, or writes to its image. */}}
{{- define "eligibility.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "eligibility.container" -}}
image: {{ include "eligibility.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "eligibility.fromSecret" -}}
valueFrom:
  secretKeyRef: { name: {{ .name }}, key: {{ .key }} }
{{- end }}

{{/*
Changes when a secret of the processes does, so that the next upgrade replaces the pods. It is made of the secrets' versions: a hash of
their contents would let a reader of pods try passwords.
*/}}
{{- define "eligibility.secretsChecksum" -}}
{{- $versions := list }}
{{- range concat (list .Values.secrets.databaseUrl .Values.secrets.secretsKey) (values .Values.secrets.further) }}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace .name }}
{{- $versions = append $versions (printf "%s %s" .name (dig "metadata" "resourceVersion" "" $secret)) }}
{{- end }}
{{- $versions | sortAlpha | uniq | join "\n" | sha256sum }}
{{- end }}
