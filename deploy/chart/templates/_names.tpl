{{/* The labels of a part, which never change: [root, component] */}}
{{- define "eligibility.selector" -}}
app.kubernetes.io/name: eligibility
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "eligibility.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
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
